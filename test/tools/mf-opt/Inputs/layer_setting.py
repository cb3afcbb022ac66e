# SPDX-License-Identifier: Apache-2.0
"""MindSpore Transformers' layer settings, written anew from their description.

A second reading of the same rules, for swap off and on: what a configuration
gives is compared with what mf-opt logs. Wrong is raised where the tools must
refuse the configuration.
"""

import re

SELECT = [r"feed_forward\.mul", r"feed_forward\.w1\.activation\.silu"]
COMM = [r".*\.norm"]
ALL = 2147483647


class Wrong(Exception):
    pass


def is_int(value):
    return isinstance(value, int)  # True is an int, as in Python


def stage_map(layers, stages, chunks, offset):
    """Layers per chunk and stage, and the place (chunk, stage, index) of each layer."""
    rest = layers % (stages * chunks)
    rows = [offset] if not isinstance(offset, list) or not offset or not isinstance(offset[0], list) else offset
    flat = [n for row in rows for n in (row if isinstance(row, list) else [row])]
    if isinstance(offset, list):
        if any(len(row) != stages for row in rows):
            raise Wrong("columns of offset")
        if isinstance(offset[0], list) and len(offset) != chunks:
            raise Wrong("rows of offset")
    if sum(flat) != rest:
        raise Wrong("sum of offset")
    average = layers // (stages * chunks)
    table = []
    for chunk in range(chunks):
        row = rows[chunk] if len(rows) > 1 else rows[0]
        table.append([average + (row[p] if isinstance(row, list) else row) for p in range(stages)])
    places, total = [], 0
    for chunk in range(chunks):
        for stage in range(stages):
            first = total
            total += table[chunk][stage]
            while len(places) < min(total, layers):
                places.append((chunk, stage, len(places) - max(first, 0)))
    return table, places


def deal(value, table):
    """A value of a recompute key in terms of the stage map."""
    zeros = [[0] * len(row) for row in table]
    if value is True:
        return table
    if value is False:
        return zeros
    if not isinstance(value, list):
        raise Wrong("type")
    if all(is_int(item) for item in value):
        if len(value) > len(table[0]):
            raise Wrong("length")
        for stage, item in enumerate(value):
            room = sum(max(row[stage], 0) for row in table)
            left = min(ALL if item is True else 0 if item is False else item, room)
            if left < 0:
                raise Wrong("negative")
            while left:
                for chunk, row in enumerate(table):
                    if left and zeros[chunk][stage] < row[stage]:
                        zeros[chunk][stage] += 1
                        left -= 1
        return zeros
    if all(isinstance(item, str) for item in value):
        return table
    if len(value) != len(table):
        raise Wrong("rows")
    for chunk, row in enumerate(value):
        if isinstance(row, bool):
            zeros[chunk] = list(table[chunk]) if row else zeros[chunk]
        elif isinstance(row, list) and len(row) == len(table[0]) and all(map(is_int, row)):
            for stage, item in enumerate(row):
                limit = ALL if item is True else 0 if item is False else item
                zeros[chunk][stage] = min(limit, table[chunk][stage])
        else:
            raise Wrong("row")
    return zeros


def pick(value):
    """A value of a recompute key with swap on: True, or layer indices."""
    if isinstance(value, bool):
        return True if value else []
    if isinstance(value, list) and all(map(is_int, value)):
        return [int(item) for item in value]
    raise Wrong("swap form")


def patterns_of(value, defaults, resolve):
    if isinstance(value, dict):
        return {pattern: resolve(layers) for pattern, layers in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return {pattern: resolve(value) for pattern in value}
    layers = resolve(value)
    return {} if value == [] else {pattern: layers for pattern in defaults}


def conflicts(left, right):
    left, right = left.split(r"\."), right.split(r"\.")
    if len(left) != len(right):
        return False
    return all(re.fullmatch(a, b) or re.fullmatch(b, a) for a, b in zip(left, right))


def drop_excluded(selected, excluded):
    for pattern in excluded:
        for other in selected:
            if conflicts(pattern, other):
                del selected[other]
                break


class Tree:
    """Names of a layer: cells and operators by path."""

    def __init__(self, operators):
        self.operators = set(operators)
        self.cells = {p.rsplit(".", n)[0] for p in operators for n in range(1, p.count(".") + 1)}

    def match(self, pattern):
        parts = pattern.split(r"\.")
        found = []
        for path in sorted(self.operators) + sorted(self.cells):
            names = path.split(".")
            if len(names) == len(parts) and all(map(re.fullmatch, parts, names)):
                found.append((path, path in self.cells))
        return found


class Plan:
    def __init__(self, config, tree, layers, stages, chunks, offset):
        self.tree, self.layers = tree, layers
        self.table, self.places = stage_map(layers, stages, chunks, offset)
        section = config.get("recompute_config", {})
        self.swap = config.get("swap_config", {}).get("swap", False)
        matrix = lambda value: deal(value, self.table)
        resolve = pick if self.swap else matrix
        self.full = resolve(section.get("recompute", False))
        get = lambda key, defaults, how: patterns_of(section.get(key, False), defaults, how)
        self.select = get("select_recompute", SELECT, resolve)
        self.comm = get("select_comm_recompute", COMM, resolve)
        self.exclude = get("select_recompute_exclude", [], matrix)
        self.comm_exclude = get("select_comm_recompute_exclude", [], matrix)
        drop_excluded(self.select, self.exclude)
        drop_excluded(self.comm, self.comm_exclude)
        self.op_swap = []
        if self.swap:
            self.read_swap(config["swap_config"])

    def read_swap(self, section):
        layer_swap, op_swap = section.get("layer_swap"), section.get("op_swap")
        self.layer_swap = merge([(e["backward_prefetch"], e["layers"]) for e in layer_swap or []])
        if layer_swap is None and op_swap is None:
            self.op_swap = {r".*\.flash_attention": [(section.get("default_prefetch", 1), True)]}
            return
        self.op_swap = {}
        for entry in op_swap or []:
            names = entry["op_name"]
            for name in names if isinstance(names, list) else [names]:
                self.op_swap.setdefault(name, []).append((entry["backward_prefetch"], entry["layers"]))
        self.op_swap = {name: merge(entries) for name, entries in self.op_swap.items()}

    def covers(self, layers, layer):
        if layers is True:
            return True
        if self.swap and not (layers and isinstance(layers[0], list)):
            return layer in layers
        chunk, stage, index = self.places[layer]
        return index < layers[chunk][stage]

    def formative(self):
        lines = ["layer_recompute: %s" % self.full]
        for name, patterns in (
            ("select_recompute", self.select),
            ("select_comm_recompute", self.comm),
            ("select_recompute_exclude", self.exclude),
            ("select_comm_recompute_exclude", self.comm_exclude),
        ):
            lines.append("%s: %s" % (name, str(patterns).replace("\\\\", "\\")))
        return lines

    def apply(self, title, patterns, layer, allow_cells):
        paths = []
        for pattern, layers in patterns.items():
            if self.covers(layers, layer):
                paths += [p for p, cell in self.tree.match(pattern) if allow_cells or not cell]
        return ["%s at layer %d: %s" % (title, layer, ", ".join(paths))] if paths else []

    def lines(self, layer):
        on = "" if self.swap else " on"
        if self.covers(self.full, layer):
            lines = [] if self.full is True else ["Set full recompute at layer %d" % layer]
        else:
            lines = self.apply("Set select recompute" + on, self.select, layer, True)
            lines += self.apply("Set select comm recompute" + on, self.comm, layer, False)
        if self.swap:
            return lines + self.swap_lines(layer)
        lines += self.apply("Set select recompute exclude", self.exclude, layer, False)
        return lines + self.apply("Set select comm recompute exclude", self.comm_exclude, layer, False)

    def swap_lines(self, layer):
        lines = []
        for prefetch, layers in self.layer_swap:
            if layers is True or layer in layers:
                lines.append("Set layer swap at layer %d and value is: %d" % (layer, prefetch))
                break
        items = []
        for pattern, entries in self.op_swap.items():
            for prefetch, layers in entries:
                if layers is True or layer in layers:
                    for path, _ in self.tree.match(pattern):
                        dot = "" if "." in path else "."
                        items.append("%s%s, value=%d" % (dot, path, prefetch))
                    break
        if items:
            lines.append("Set op_swap at layer %d: %s" % (layer, ", ".join(items)))
        return lines


def merge(entries):
    """Entries of one name: once one covers all layers, all must agree."""
    entries = [(p, [] if layers is False else layers) for p, layers in entries]
    seen = False
    for i, (_, layers) in enumerate(entries):
        seen |= layers is True
        if seen and any(a[0] != b[0] for a, b in zip(entries[: i + 1], entries[1 : i + 1])):
            raise Wrong("prefetch")
    return [(entries[0][0], True)] if seen else entries
