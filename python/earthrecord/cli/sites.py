"""`er sites`: the places that records are made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from earthrecord.cli import options as opt

if TYPE_CHECKING:
    from earthrecord.sites.model import Site


class _ListsByDefault(TyperGroup):
    """`er sites [FILE]` lists; a first word that is no command belongs to the list."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in self.get_help_option_names(ctx)):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ListsByDefault,
    rich_markup_mode=None,
    subcommand_metavar="[FILE] [--id-field NAME] [--layer NAME] [--json] | new | show",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""List the sites of a file (sites.toml where none is named), add one, or show one.

    A sites file is TOML (docs/sites.md), GeoJSON, GeoPackage or another vector
    file of polygons; --id-field and --layer say where a vector file has its ids.

    \b
    Example: er sites
      er sites plots.gpkg --id-field plot_no
      er sites new chaco --bbox -63.3,-24.1,-63.1,-23.9 --theme forest
      er sites show chaco
    """,
)


@app.command("list", hidden=True)
def list_sites(
    file: Annotated[
        Path, typer.Argument(metavar="[FILE]", help="Sites: TOML, GeoJSON or GeoPackage.")
    ] = opt.SITES,
    id_field: opt.IdField = None,
    layer: opt.SitesLayer = None,
    as_json: opt.AsJson = False,
) -> None:
    """List the sites of a file.

    Example: er sites plots.gpkg --id-field plot_no
    """
    from earthrecord.cli.say import show_json, show_table

    found = _read(file, id_field, layer)
    if as_json:
        show_json([_facts(site) for site in found.values()])
        return
    head = ("id", "kind", "theme", "role", "Köppen", "west, south, east, north", "size km", "CRS")
    rows = [
        (site.id, site.kind, site.theme, site.role, site.koppen, _box(site), _size(site), site.crs)
        for site in found.values()
    ]
    show_table(f"{len(rows)} site{'s' if len(rows) > 1 else ''} in {file}", head, rows)


@app.command()
def new(
    site: Annotated[
        str, typer.Argument(metavar="ID", help="Id: letters, digits, - and _. It names folders.")
    ],
    bbox: Annotated[
        str,
        typer.Option("--bbox", metavar="W,S,E,N", help="Degrees. West > east crosses the antimeridian."),
    ],
    kind: Annotated[
        str, typer.Option("--kind", help="core (a box or plot) or region (a boundary).")
    ] = "core",
    theme: Annotated[
        str | None,
        typer.Option("--theme", help="forest greening agriculture water urban fire snow coast."),
    ] = None,
    role: Annotated[str | None, typer.Option("--role", help="famous, stable or obscure.")] = None,
    koppen: Annotated[
        str | None,
        typer.Option("--koppen", help="Köppen group, A to E; looked up at the place where not given."),
    ] = None,
    continent: Annotated[str | None, typer.Option("--continent", help="In your own words.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="What people call the place.")] = None,
    crs: Annotated[
        str | None, typer.Option("--crs", help="Projected CRS; the UTM zone of the centre where not given.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Sites file to add to, made where missing.")] = opt.SITES,
) -> None:
    """Add a site to a sites file in TOML; what stands in the file stays as it is.

    The Köppen group is looked up offline. A record tells nothing of name, theme,
    role, group and continent.

    Example: er sites new chaco --bbox -63.3,-24.1,-63.1,-23.9 --theme forest
    """
    from earthrecord.sites.append import append_site
    from earthrecord.sites.koppen import koppen_group
    from earthrecord.sites.outline import from_box, told_of

    edges = _edges(bbox)
    with told_of(f"--bbox {bbox}"):
        place = from_box(edges)
    group = koppen or koppen_group(place.bounds)
    added = append_site(
        out,
        site,
        edges,
        kind=kind,
        name=name,
        theme=theme,
        role=role,
        koppen=group,
        continent=continent,
        crs=crs,
    )
    typer.echo(
        f"Added {added.id} to {out}: {added.kind}, {_size(added)} km, {added.crs}, "
        f"{f'Köppen group {added.koppen}' if added.koppen else 'no land by the Köppen map'}"
    )


@app.command()
def show(
    site: Annotated[str, typer.Argument(metavar="ID", help="Id of a site in the sites file.")],
    sites: opt.Sites = opt.SITES,
    id_field: opt.IdField = None,
    layer: opt.SitesLayer = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show all that is known of one site.

    Example: er sites show chaco --sites sites.toml
    """
    from earthrecord.cli.say import show_json
    from earthrecord.errors import BadSite

    found = _read(sites, id_field, layer)
    if site not in found:
        from difflib import get_close_matches

        near = get_close_matches(site, found, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(list(found)[:20])}"
        raise BadSite(f"{sites} has no site {site!r}; {meant}")
    facts = _facts(found[site])
    if as_json:
        show_json(facts)
        return
    for key, value in facts.items():
        told = ", ".join(map(str, value)) if isinstance(value, list) else value
        typer.echo(f"{key + ':':<15}{'' if told is None else told}".rstrip())


def _read(file: Path, id_field: str | None, layer: str | None) -> dict[str, Site]:
    from earthrecord.errors import BadSite
    from earthrecord.sites.readers import read_sites

    if not file.exists():
        raise BadSite(
            f"{file} does not exist: make it with er sites new ID --bbox W,S,E,N, or name another file, "
            "such as er sites plots.gpkg"
        )
    return read_sites(file, id_field, layer)


def _edges(bbox: str) -> list[float]:
    try:
        edges = [float(edge) for edge in bbox.replace(",", " ").split()]
    except ValueError:
        edges = []
    if len(edges) != 4:
        raise typer.BadParameter(
            f"{bbox!r} is not west,south,east,north in degrees, such as -63.3,-24.1,-63.1,-23.9",
            param_hint="--bbox",
        )
    return edges


def _facts(site: Site) -> dict[str, Any]:
    """All that is known of a site, lengths in metres, the area in square kilometres."""
    from pyproj import Geod

    area, _ = Geod(ellps="WGS84").geometry_area_perimeter(site.geometry)
    width, height = site.size
    return {
        "id": site.id,
        "kind": site.kind,
        "name": site.name,
        "theme": site.theme,
        "role": site.role,
        "koppen": site.koppen,
        "continent": site.continent,
        "bbox": list(site.bbox),
        "crs": site.crs,
        "width_m": round(width, 1),
        "height_m": round(height, 1),
        "area_km2": round(abs(area) / 1e6, 6),
        "digest": site.digest,
    }


def _box(site: Site) -> str:
    return ", ".join(f"{round(edge, 4):.7g}" for edge in site.bbox)


def _size(site: Site) -> str:
    width, height = site.size
    return f"{width / 1000:.3g} x {height / 1000:.3g}"
