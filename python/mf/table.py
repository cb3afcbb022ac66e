# SPDX-License-Identifier: Apache-2.0
"""Tables for a terminal and for a notebook."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, List, Sequence

GIB, MIB = 1 << 30, 1 << 20


class Table:
    """Cells of text. The first column is aligned to the left, the others to the right."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]]):
        self.columns = list(columns)
        self.rows = [list(row) for row in rows]

    def __str__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join(
            "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]).rstrip()
            for line in lines
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            aligned = ("left", *["right"] * (len(cells) - 1))
            return "<tr>%s</tr>" % "".join(
                '<%s style="text-align:%s">%s</%s>' % (tag, side, escape(cell), tag) for side, cell in zip(aligned, cells)
            )

        body = "".join(row(cells, "td") for cells in self.rows)
        return "<table><thead>%s</thead><tbody>%s</tbody></table>" % (row(self.columns, "th"), body)


class Result:
    """What a verb of `mf` found. It prints as a sentence and a table, in a notebook as well."""

    def __init__(self, found: Dict[str, Any]):
        self._found = found

    def summary(self) -> str:
        raise NotImplementedError

    def table(self) -> Table:
        raise NotImplementedError

    def records(self) -> List[Dict[str, Any]]:
        """The rows of the table as numbers, with bytes and seconds unrounded."""
        raise NotImplementedError

    def to_dict(self) -> Dict[str, Any]:
        """All that the command found, as its JSON has it."""
        return self._found

    def to_frame(self) -> Any:
        """The records as a frame of pandas, which must be installed."""
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return pandas.DataFrame(self.records())

    def __str__(self) -> str:
        return "%s\n%s" % (self.summary(), self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "<p>%s</p>%s" % (escape(self.summary()).replace("\n", "<br>"), self.table()._repr_html_())


class Unit:
    """The unit in which the sizes of a table are shown: that of the largest."""

    def __init__(self, largest: int):
        self.name, self.bytes = ("GiB", GIB) if largest >= GIB else ("MiB", MIB)

    def count(self, size: int) -> str:
        return "%.2f" % (size / self.bytes)


def show_bytes(size: int) -> str:
    unit = Unit(size)
    return "%s %s" % (unit.count(size), unit.name)


def show_seconds(seconds: float) -> str:
    return "%.4g s" % seconds
