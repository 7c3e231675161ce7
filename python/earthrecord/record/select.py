"""Which scenes a record keeps, and why not the others.

Pure functions from the scene table (and, later, the counts) to decisions. Each candidate ends with a rule of
`model.DROPS` or with none (kept). The order of the rules is that of docs/decisions.md: not the product, time
window, outside, duplicate, no observation, obscured, one a month.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from earthrecord.products.model import Duplicates, Product
from earthrecord.record.model import Rules

Row = Mapping[str, Any]


@dataclass(slots=True)
class Decision:
    """What becomes of one candidate. `rule` None means kept (so far)."""

    rule: str | None = None
    reason: str = ""
    duplicate_of: str | None = None
    counts: tuple[int, int, int, int, int, int] | None = None
    flags: list[str] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return self.rule is None

    def drop(self, rule: str, reason: str) -> None:
        self.rule, self.reason = rule, reason


def by_kind(row: Row, product: Product | None, rules: Rules, site_kind: str) -> Decision:
    """The rules that need nothing but the row: not the product, not asked for, time window."""
    decision = Decision(flags=list(row["flags"] or ()))
    if row["refused"] is not None:
        decision.drop("not the product", row["refused"])
    elif product is None:
        decision.drop("not the product", f"no product {row['product']!r} in the product table")
    elif rules.products and product.id not in rules.products:
        decision.drop("not asked for", f"only {', '.join(rules.products)} were asked for")
    elif site_kind not in product.kinds:
        decision.drop("not asked for", f"{product.title} is no part of the record of a {site_kind} site")
    elif not (product.record or product.withheld):
        decision.drop("not asked for", f"{product.title} is no part of a record")
    elif not {file["band"] for file in row["files"]} & {band.name for band in product.bands if band.record}:
        decision.drop("not asked for", f"none of its files is a layer of {product.title} that a record takes")
    else:
        _by_time(decision, row, product, rules)
    return decision


def _by_time(decision: Decision, row: Row, product: Product, rules: Rules) -> None:
    date: dt.date | None = row["datatake"].date() if row["datatake"] else row["date"]
    last: dt.date | None = row["end"].date() if has_steps(row) and row["end"] else date
    if product.static or product.fixed or product.withheld:
        return
    if date is None or last is None:
        decision.drop("time window", "the scene has no date")
        return
    first = rules.start if product.start is None else max(rules.start, product.start)
    if last < first:
        decision.drop("time window", f"{last} is before {first}, when the record's {product.title} begins")
    elif date > rules.snapshot:
        decision.drop("time window", f"{date} is after the snapshot {rules.snapshot}")


def has_steps(row: Row) -> bool:
    """Whether a candidate is a netCDF variable, with many time steps in one file."""
    return any(file["container"] == "netcdf" for file in row["files"])


def share_months(
    rows: Sequence[Row], decisions: Sequence[Decision], products: Mapping[str, Product], rules: Rules
) -> dict[int, frozenset[str]]:
    """The months ("1994-12") that each netCDF candidate gives, by position (definitions, "ERA5-Land").

    A month of a variable is taken once, from the candidate that the product's rule prefers; one that is left
    without a month is a duplicate. Months outside the record's time window are not given.
    """
    given: dict[int, frozenset[str]] = {}
    takers: dict[tuple[str, str, str], str] = {}
    open_ = [
        i
        for i, (row, decision) in enumerate(zip(rows, decisions, strict=True))
        if decision.open and has_steps(row)
    ]
    by_rank = sorted(
        open_, key=lambda i: rank(rows[i], products[rows[i]["product"]].duplicates), reverse=True
    )
    for position in by_rank:
        row = rows[position]
        variable = (row["product"], row["files"][0]["band"])
        months = _months(row, rules)
        free = frozenset(month for month in months if (*variable, month) not in takers)
        if months and not free:
            decisions[position].duplicate_of = takers[(*variable, min(months))]
            decisions[position].drop(
                "duplicate", f"each of its {len(months)} months comes from a preferred file"
            )
        takers |= {(*variable, month): row["scene"] for month in free}
        given[position] = free
    return given


def _months(row: Row, rules: Rules) -> list[str]:
    if row["date"] is None:
        return []
    first, last = max(row["date"], rules.start), min((row["end"] or row["start"]).date(), rules.snapshot)
    numbers = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    return [f"{number // 12}-{number % 12 + 1:02d}" for number in numbers]


def acquisitions(rows: Sequence[Row], rule: Duplicates) -> list[list[int]]:
    """Group rows (given by position) that are one acquisition by a product's duplicate rule.

    Rows agree in all key columns, and where the rule has a `near` column their times lie within its seconds
    of the group's first. A row that lacks a key value, or the near time, is alone.
    """
    by_key: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    groups: list[list[int]] = []
    for position, row in enumerate(rows):
        key = tuple(row[column] for column in rule.key)
        lacks = any(value is None for value in key) or (rule.near is not None and row[rule.near] is None)
        if lacks:
            groups.append([position])
        else:
            by_key[key].append(position)
    for members in by_key.values():
        groups.extend(_chains(rows, members, rule))
    return groups


def _chains(rows: Sequence[Row], members: list[int], rule: Duplicates) -> Iterable[list[int]]:
    if rule.near is None:
        return [members]
    near = rule.near
    ordered = sorted(members, key=lambda position: (rows[position][near], position))
    chains: list[list[int]] = []
    for position in ordered:
        time = rows[position][near]
        if chains and (time - rows[chains[-1][0]][near]).total_seconds() <= rule.seconds:
            chains[-1].append(position)
        else:
            chains.append([position])
    return chains


def preferred(rows: Sequence[Row], members: Sequence[int], rule: Duplicates) -> int:
    """The member to keep: the greatest in the rule's columns in turn, missing loses, then catalogue order."""
    return max(members, key=lambda position: rank(rows[position], rule))


def rank(row: Row, rule: Duplicates) -> tuple[Any, ...]:
    """What `preferred` compares."""
    return (*(_rank(_compared(row, column, rule), column, rule) for column in rule.prefer), -row["order"])


def _compared(row: Row, column: str, rule: Duplicates) -> Any:
    """A value as it is compared: a time that comes before the level counts by its day, which is all that a name tells."""
    value, later = row[column], rule.prefer[rule.prefer.index(column) + 1 :]
    return value.date() if isinstance(value, dt.datetime) and "level" in later else value


def _rank(value: Any, column: str, rule: Duplicates) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if column == "level":
        return (1, -rule.levels.index(value)) if value in rule.levels else (0,)
    return (1, value)


def duplicates(rows: Sequence[Row], decisions: Sequence[Decision], products: Mapping[str, Product]) -> None:
    """Drop all but one processing of each acquisition (definitions, "duplicate")."""
    by_product: dict[str, list[int]] = defaultdict(list)
    for position, (row, decision) in enumerate(zip(rows, decisions, strict=True)):
        if decision.open:
            by_product[row["product"]].append(position)
    for product_id, positions in by_product.items():
        rule = products[product_id].duplicates
        chosen = [rows[position] for position in positions]
        for group in acquisitions(chosen, rule):
            keep = preferred(chosen, group, rule)
            for member in group:
                if member != keep:
                    _drop_duplicate(decisions[positions[member]], chosen[member], chosen[keep], rule)


def _drop_duplicate(decision: Decision, row: Row, kept: Row, rule: Duplicates) -> None:
    why = next(
        (c for c in rule.prefer if _compared(row, c, rule) != _compared(kept, c, rule)), None
    )  # the first that differs
    if why is None:
        reason = f"the same acquisition as {kept['scene']}, which the catalogue lists first"
    else:
        found, other = (_said(_compared(one, why, rule)) for one in (kept, row))
        reason = f"the same acquisition as {kept['scene']}, kept for its {_WORDS.get(why, why)} ({found} against {other})"
    decision.drop("duplicate", reason)
    decision.duplicate_of = kept["scene"]


_WORDS = {
    "processed": "newer processing",
    "generated": "newer generation time",
    "baseline": "newer processing baseline",
    "level": "level",
    "final": "final state",
}


def _said(value: Any) -> str:
    if value is None:
        return "not said"
    return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else str(value)


def obscured_share(counts: Sequence[int]) -> float | None:
    """(cloud + shadow) / (cloud + shadow + snow + clear); None where nothing was observed."""
    _, _, cloud, shadow, snow, clear = counts
    seen = cloud + shadow + snow + clear
    return (cloud + shadow) / seen if seen else None


def by_counts(members: Sequence[Decision], counts: Sequence[int], product: Product, rules: Rules) -> None:
    """The rules on counts, for one scene or for the granules of one Sentinel-2 acquisition together."""
    if not product.obscured_rule:
        return
    share = obscured_share(counts)
    for decision in members:
        if share is None:
            decision.drop("no observation", f"all {counts[1]} of the site's pixels in it are fill")
        elif rules.obscured is not None and share >= rules.obscured:
            decision.drop(
                "obscured",
                f"cloud and shadow hide {share:.1%} of what it sees of the site; the limit is {rules.obscured:.0%}",
            )
