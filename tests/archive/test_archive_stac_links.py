"""Where the links of items lead."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from earthrecord.archive.hrefs import Base, Link, choose, container, file_name, location, resolve

SELF = "https://x.org/items/a/a.json"
PREFER = ("https", "http", "s3")


def base(folder: Path, url: str = "") -> Base:
    return Base(folder / "items/a.json", url)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "items").mkdir()
    for name in ("items/B04.tif", "B 05.tif", "items/SCENE_T1_SR_B2.TIF"):
        (tmp_path / name).write_bytes(b"II")
    return tmp_path


@pytest.mark.parametrize(
    ("href", "path"),
    [
        ("./B04.tif", "items/B04.tif"),
        ("B04.tif", "items/B04.tif"),
        ("../B 05.tif", "B 05.tif"),
        ("../B%2005.tif", "B 05.tif"),
        (".\\B04.tif", "items/B04.tif"),
        ("..\\items\\B04.tif", "items/B04.tif"),
    ],
)
def test_relative_links_start_at_the_file_of_the_item(href: str, path: str, folder: Path) -> None:
    assert resolve(href, base(folder, SELF)) == Link(str(folder / path), True)


def test_a_relative_link_without_a_file_starts_at_the_items_address(folder: Path) -> None:
    assert resolve("./B8A.tif", base(folder, SELF)) == Link("https://x.org/items/a/B8A.tif", True)
    assert resolve("../../B8A.tif", base(folder, SELF)) == Link("https://x.org/B8A.tif", True)
    assert resolve("./B8A.tif", base(folder)) == Link(str(folder / "items/B8A.tif"), False)


def test_absolute_paths_and_file_urls(folder: Path) -> None:
    file = folder / "B 05.tif"
    assert resolve(str(file), base(folder)) == Link(str(file), True)
    assert resolve(file.as_uri(), base(folder)) == Link(str(file), True)
    assert resolve("/tmp/tmpj8uymxue/s3:/B04.tif", base(folder, SELF)) == Link(
        "/tmp/tmpj8uymxue/s3:/B04.tif", False
    )
    assert resolve("file:///nowhere/B04.tif", base(folder)) == Link("/nowhere/B04.tif", False)


@pytest.mark.parametrize(
    "href",
    ["https://x.org/a.tif?sig=a%2Fb", "s3://bucket/a.tif", "gs://b/a.tif", "az://c/a.tif", "HTTP://X.org/a"],
)
def test_remote_links_stay_as_they_are(href: str, folder: Path) -> None:
    assert resolve(href, base(folder, SELF)) == Link(href, True)


def test_links_as_gdal_spells_them(folder: Path) -> None:
    assert resolve("/vsis3/bucket/a.tif", base(folder)).href == "s3://bucket/a.tif"
    assert resolve("/vsicurl/https://x.org/a.tif", base(folder)).href == "https://x.org/a.tif"


def test_a_path_of_another_machine_is_not_reachable(folder: Path) -> None:
    assert resolve(r"C:\data\B04.tif", base(folder, SELF)) == Link(r"C:\data\B04.tif", False)
    assert file_name(r"C:\data\B04.tif") == "B04.tif"


def test_of_several_links_the_easiest_is_taken(folder: Path) -> None:
    s3, web = "s3://bucket/B04.jp2", "https://x.org/B04.jp2"
    asset = {"href": s3, "alternate": {"https": {"href": web}, "odd": None}}
    assert choose(asset, base(folder), PREFER, "") == Link(web, True)
    assert choose(asset, base(folder), ("s3", "https"), "") == Link(s3, True)
    asset["alternate"] = {"https": {"href": web}, "local": {"href": "B04.tif"}}
    assert choose(asset, base(folder), PREFER, "") == Link(str(folder / "items/B04.tif"), True)
    asset = {"href": "/gone/B04.jp2", "alternate": {"s3": {"href": s3}}}
    assert choose(asset, base(folder), PREFER, "") == Link(s3, True)
    assert choose({"type": "image/jp2"}, base(folder), PREFER, "") is None


def test_a_file_beside_the_item_that_carries_the_scenes_id_is_meant(folder: Path) -> None:
    remote = {"href": "https://x.org/d/SCENE_T1_SR_B2.TIF?sig=1"}
    assert choose(remote, base(folder), PREFER, "SCENE_T1") == Link(
        str(folder / "items/SCENE_T1_SR_B2.TIF"), True
    )
    anonymous = {"href": "https://x.org/d/B04.tif"}
    assert choose(anonymous, base(folder), PREFER, "SCENE_T1") == Link("https://x.org/d/B04.tif", True)


@pytest.mark.parametrize(
    ("href", "media", "kind"),
    [
        ("https://x.org/a.TIF?sig=1.2", None, "tiff"),
        ("a.jp2", "image/tiff", "jp2"),
        ("https://x.org/Nodes(a.jp2)/$value", "image/jp2", "jp2"),
        ("https://x.org/download", "image/tiff; application=geotiff; profile=cloud-optimized", "tiff"),
        ("a.hdf", None, "hdf4"),
        ("a.h5", "application/x-hdf5", "hdf5"),
        ("a.hdf.xml", "application/xml", None),
        ("a.jpg", "image/jpeg", None),
        ("a_MTL.json", "application/json", None),
        ("https://x.org/v1.2/thumbnail", "image/png", None),
    ],
)
def test_kinds_of_files(href: str, media: str | None, kind: str | None) -> None:
    assert container(href, media) == kind


@example("//[")
@given(st.text(max_size=40) | st.from_regex(r"\A(https?|s3|file)://[^\n]{0,30}\Z"))
def test_any_text_leads_somewhere(href: str) -> None:
    link = resolve(href, Base(Path("/nowhere/a.json"), SELF))
    assert isinstance(location(link.href), str)
    assert container(href, None) in (None, "tiff", "jp2", "hdf4", "hdf5", "netcdf", "vector")
