# SPDX-License-Identifier: Apache-2.0
"""Checks that plans take as long as a mixed-integer program says.

usage: plans_match_mip.py [--part=K/N] BIN_FOLDER WORK_FOLDER [SEED [COUNT]]

Draws problems of planning and solves each with mf-plan and, from the same file, as a
mixed-integer program by HiGHS: whole numbers of layers by chunk, kind and treatment,
the start of every task of every micro-batch, and the memory after every prefix of a
stage's tasks. Times must agree, and both must find the same problems without a plan.
MF_SEED replaces the seed. Needs SciPy.
"""

import json
import os
import random
import re
import subprocess
import sys

import numpy
import parts
import scipy.optimize
import scipy.sparse

# Name of the schedule, most chunks on a stage.
SCHEDULES = [("1f1b", 1), ("gpipe", 2), ("interleaved", 3), ("interleaved-low-memory", 2),
             ("zero-bubble-h1", 1), ("zero-bubble-h2", 1), ("zero-bubble-v", 2), ("dualpipe-v", 2), ("v-half", 2),
             ("v-min", 2)]  # fmt: skip
TASK = re.compile(r"([FBIW])(\d+)(?:\.(\d+))?$")
INFEASIBLE = 2
TOLERANCE = 1e-5


def draw_number(source, least, most):
    """Multiples of an eighth: sums are exact."""
    return source.randint(int(least * 8), int(most * 8)) / 8


def draw_treatments(source, kind, names):
    treatments = []
    for name in names:
        treatment = {"name": name, "backward": 2 * kind["forward"]}
        if name == "swap":
            treatment["backward"] += draw_number(source, 0, 1)
            treatment["copy_out"] = draw_number(source, 0, 2 * kind["forward"])
            treatment["copy_in"] = draw_number(source, 0, 2 * kind["forward"])
            treatment["block_mem_act"] = 0
        elif name != "none":
            treatment["backward"] += draw_number(source, 0.25, 2)
            treatment["block_mem_act"] = draw_number(source, 0, kind["block_mem_act"] / 2)
        if source.random() < 0.3:
            treatment["transient_mem"] = draw_number(source, 0, 6)
        treatment["weight_gradient"] = draw_number(source, 0, kind["forward"])
        treatments.append(treatment)
    return treatments


def draw_layers(source, least):
    names = ["none"] + source.sample(["select", "full", "swap"], source.randint(0, 3))
    layers, left = [], least + source.randint(1, 6)
    for index in range(source.randint(1, 3)):
        kind = {"name": "kind%d" % index, "count": source.randint(0, left)}
        left -= kind["count"]
        kind["forward"] = draw_number(source, 0.5, 3)
        kind["block_mem_act"] = draw_number(source, 1, 8)
        kind["block_mem_par"] = draw_number(source, 0, 10)
        kind["update_time"] = draw_number(source, 0, 1) if source.random() < 0.3 else 0
        kind["treatments"] = draw_treatments(source, kind, names)
        layers.append(kind)
    layers[-1]["count"] += left
    return layers


def draw_choices(source, problem, chunks):
    names = [treatment["name"] for treatment in problem["layers"][0]["treatments"]]
    problem["treatments_in_order"] = source.random() < 0.3
    if len(names) > 2 and source.random() < 0.3:
        problem["exclusive"] = [source.sample(names, 2)]
    if source.random() < 0.3:
        layers = sum(kind["count"] for kind in problem["layers"])
        problem["max_layers"] = -(-layers // chunks) + source.randint(0, 1)
    if source.random() < 0.2:
        problem["keep"] = {source.choice(names): 0}


def draw_problem(source):
    schedule, most_rows = source.choice(SCHEDULES)
    stages, rows = source.randint(1, 4), source.randint(min(2, most_rows), most_rows)
    problem = {"pipeline_stage": stages, "pp_interleave_num": rows, "schedule": schedule,
               "micro_num": source.randint(2 * stages, 2 * stages + 2), "min_layers": source.randint(0, 1),
               "comm_time": draw_number(source, 0, 0.5) if source.random() < 0.5 else 0}  # fmt: skip
    problem["layers"] = draw_layers(source, problem["min_layers"] * stages * rows)
    for name in ("embedding", "head"):
        if source.random() < 0.5:
            forward = draw_number(source, 0, 2)
            problem[name] = {"forward": forward, "backward": 2 * forward, "weight_gradient": forward / 2,
                             "block_mem_par": draw_number(source, 0, 8), "block_mem_act": draw_number(source, 0, 2),
                             "transient_mem": draw_number(source, 0, 4)}  # fmt: skip
    draw_choices(source, problem, stages * rows)
    need = sum(kind["count"] * (kind["block_mem_par"] + kind["block_mem_act"] * min(stages, 3))
               for kind in problem["layers"]) / stages  # fmt: skip
    tightness = source.uniform(0.6, 1.6)
    problem["memory_limit"] = [round(8 * need * tightness * source.uniform(0.8, 1.3)) / 8 + 8 for _ in range(stages)]
    problem["constant_mem"] = draw_number(source, -2, 2)
    return problem


def read_orders(bin_folder, problem):
    """The tasks of each stage: letter, chunk, micro-batch."""
    command = [os.path.join(bin_folder, "mf-schedule"), "--json", "--schedule=" + problem["schedule"],
               "--stages=%d" % problem["pipeline_stage"], "--chunks=%d" % problem["pp_interleave_num"],
               "--micro-batches=%d" % problem["micro_num"]]  # fmt: skip
    blocks = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["blocks"]
    orders = []
    for stage, tasks in enumerate(blocks):
        matches = [TASK.match(block["task"]) for block in tasks]
        # `F3` is micro-batch 3 where a stage has one chunk.
        orders.append([(m[1], int(m[2]), int(m[3])) if m[3] else (m[1], stage, int(m[2])) for m in matches])
    return orders


class Program:
    """min c x with rows of lower <= a x <= upper; terms are {variable: factor}."""

    def __init__(self):
        self.upper_bounds, self.integrality, self.rows = [], [], []

    def add_variable(self, most=numpy.inf, is_whole=False):
        self.upper_bounds.append(most)
        self.integrality.append(int(is_whole))
        return len(self.upper_bounds) - 1

    def add_row(self, terms, lower=-numpy.inf, upper=numpy.inf):
        self.rows.append((dict(terms), lower, upper))

    def run(self, variable, **options):
        """What HiGHS says of the least value of a variable."""
        data, row_numbers, columns = [], [], []
        for number, (terms, _, _) in enumerate(self.rows):
            for column, factor in terms.items():
                data.append(factor)
                row_numbers.append(number)
                columns.append(column)
        size = len(self.upper_bounds)
        matrix = scipy.sparse.csr_matrix((data, (row_numbers, columns)), shape=(len(self.rows), size))
        objective = numpy.zeros(size)
        objective[variable] = 1
        return scipy.optimize.milp(
            objective, integrality=self.integrality, bounds=scipy.optimize.Bounds(0, self.upper_bounds),
            constraints=scipy.optimize.LinearConstraint(
                matrix, [lower for _, lower, _ in self.rows], [upper for _, _, upper in self.rows]),
            options=options)  # fmt: skip

    def minimize(self, variable):
        result = self.run(variable, mip_rel_gap=0)
        assert result.status in (0, 2), result.message
        return result.fun if result.status == 0 else None


def combine(*weighted):
    """A sum of terms times factors."""
    terms = {}
    for factor, part in weighted:
        for variable, value in part.items():
            terms[variable] = terms.get(variable, 0) + factor * value
    return terms


class Formulation:
    """The program of a problem. Constants are factors of a variable that is 1."""

    def __init__(self, problem, orders):
        self.problem, self.orders, self.program = problem, orders, Program()
        self.one = self.program.add_variable(1)
        self.program.add_row({self.one: 1}, lower=1)
        self.stage_of = {task[1]: stage for stage, tasks in enumerate(orders) for task in tasks}
        self.chunks = range(len(self.stage_of))
        self.kinds = problem["layers"]
        self.names = [treatment["name"] for treatment in self.kinds[0]["treatments"]]
        self.counts = [[[self.program.add_variable(kind["count"], True) for _ in self.names]
                        for kind in self.kinds] for _ in self.chunks]  # fmt: skip

    def build(self):
        """The variable of the step."""
        self.add_numbers_of_layers()
        self.add_order_of_kinds()
        self.add_rules_on_treatments()
        self.add_copies()
        self.add_memory()
        return self.add_step()

    def solve(self):
        return self.program.minimize(self.build())

    def get_layers(self, chunk, kind):
        return {variable: 1 for variable in self.counts[chunk][kind]}

    def get_extras(self, chunk):
        if chunk == 0 and "embedding" in self.problem:
            yield self.problem["embedding"]
        if chunk == self.chunks[-1] and "head" in self.problem:
            yield self.problem["head"]

    def get_cost(self, chunk, key):
        """A cost of a treatment or an extra, summed over a chunk."""
        terms = {}
        for kind, variables in zip(self.kinds, self.counts[chunk]):
            for treatment, variable in zip(kind["treatments"], variables):
                terms[variable] = treatment.get(key, kind.get(key, 0))
        extra = sum(extra.get(key, 0) for extra in self.get_extras(chunk))
        return combine((1, terms), (extra, {self.one: 1}))

    def get_kind_cost(self, chunk, key):
        """A cost that does not depend on treatments."""
        terms = combine(*((kind[key], self.get_layers(chunk, index)) for index, kind in enumerate(self.kinds)))
        extra = sum(extra.get(key, 0) for extra in self.get_extras(chunk))
        return combine((1, terms), (extra, {self.one: 1}))

    def add_numbers_of_layers(self):
        for index, kind in enumerate(self.kinds):
            everywhere = combine(*((1, self.get_layers(chunk, index)) for chunk in self.chunks))
            self.program.add_row(everywhere, kind["count"], kind["count"])
        for chunk in self.chunks:
            layers = combine(*((1, self.get_layers(chunk, index)) for index in range(len(self.kinds))))
            self.program.add_row(layers, self.problem["min_layers"], self.problem.get("max_layers", numpy.inf))

    def add_order_of_kinds(self):
        """A chunk has layers of a kind only if those of kinds before are all in chunks up to it."""
        for index, kind in enumerate(self.kinds):
            for chunk in self.chunks:
                has_kind = self.program.add_variable(1, True)
                self.program.add_row(combine((1, self.get_layers(chunk, index)), (-kind["count"], {has_kind: 1})),
                                     upper=0)  # fmt: skip
                for before in range(index):
                    dealt = combine(*((1, self.get_layers(c, before)) for c in range(chunk + 1)))
                    self.program.add_row(combine((1, dealt), (-self.kinds[before]["count"], {has_kind: 1})), lower=0)

    def add_indicator(self, variables):
        """1 if any of whole numbers is not 0."""
        most = sum(self.program.upper_bounds[variable] for variable in variables)
        indicator = self.program.add_variable(1, True)
        self.program.add_row(combine((1, {variable: 1 for variable in variables}), (-most, {indicator: 1})), upper=0)
        return indicator

    def add_rules_on_treatments(self):
        for chunk in self.chunks:
            for pair in self.problem.get("exclusive", []):
                used = [self.add_indicator([counts[self.names.index(name)] for counts in self.counts[chunk]])
                        for name in pair]  # fmt: skip
                self.program.add_row({indicator: 1 for indicator in used}, upper=1)
            for name in self.problem.get("keep", {}):
                treated = {counts[self.names.index(name)]: 1 for counts in self.counts[chunk]}
                self.program.add_row(treated, upper=self.problem["keep"][name])
            if self.problem["treatments_in_order"]:
                self.add_order_of_treatments(chunk)

    def add_order_of_treatments(self, chunk):
        for later in range(len(self.kinds)):
            for earlier in range(later):
                for treatment in range(1, len(self.names)):
                    above = self.add_indicator(self.counts[chunk][earlier][treatment:])
                    below = self.add_indicator(self.counts[chunk][later][:treatment])
                    self.program.add_row({above: 1, below: 1}, upper=1)

    def add_copies(self):
        for chunk in self.chunks:
            for copy, task in (("copy_out", "forward"), ("copy_in", "backward")):
                self.program.add_row(combine((1, self.get_cost(chunk, copy)), (-1, self.get_cost(chunk, task))),
                                     upper=0)  # fmt: skip

    def add_transient(self, stage):
        """At least what any layer or extra of the stage needs."""
        transient = self.program.add_variable()
        for chunk in self.chunks:
            if self.stage_of[chunk] != stage:
                continue
            for extra in self.get_extras(chunk):
                self.program.add_row({transient: 1}, lower=extra.get("transient_mem", 0))
            for kind, variables in zip(self.kinds, self.counts[chunk]):
                for treatment, variable in zip(kind["treatments"], variables):
                    if treatment.get("transient_mem"):
                        used = self.add_indicator([variable])
                        self.program.add_row({transient: 1, used: -treatment["transient_mem"]}, lower=0)
        return transient

    def add_memory(self):
        last_phases = {"B", "W"} if any(task[0] == "W" for task in self.orders[0]) else {"B"}
        for stage, tasks in enumerate(self.orders):
            chunks = [chunk for chunk in self.chunks if self.stage_of[chunk] == stage]
            standing = combine((1, {self.add_transient(stage): 1}),
                               *((1, self.get_kind_cost(chunk, "block_mem_par")) for chunk in chunks))  # fmt: skip
            room = self.problem["memory_limit"][stage] - self.problem["constant_mem"]
            held, seen = dict.fromkeys(chunks, 0), set()
            for letter, chunk, _ in tasks:
                held[chunk] += 1 if letter == "F" else -1 if letter in last_phases else 0
                # The same prefix, in what it holds, is one row.
                if tuple(held.values()) in seen:
                    continue
                seen.add(tuple(held.values()))
                activations = [(number, self.get_cost(c, "block_mem_act")) for c, number in held.items()]
                self.program.add_row(combine((1, standing), *activations), upper=room)

    def get_duration(self, letter, chunk):
        if letter == "I":
            return combine((1, self.get_cost(chunk, "backward")), (-1, self.get_cost(chunk, "weight_gradient")))
        return self.get_cost(chunk, {"F": "forward", "B": "backward", "W": "weight_gradient"}[letter])

    def add_step(self):
        """The end of the step, with the start of every task before it."""
        starts = {task: self.program.add_variable() for tasks in self.orders for task in tasks}
        end = self.program.add_variable()

        def add_before(first, second, wait=0):
            terms = combine((1, {starts[second]: 1}), (-1, {starts[first]: 1}), (-1, self.get_duration(*first[:2])))
            self.program.add_row(terms, lower=wait)

        for stage, tasks in enumerate(self.orders):
            for first, second in zip(tasks, tasks[1:]):
                add_before(first, second)
            update = [(-1, self.get_kind_cost(c, "update_time")) for c in self.chunks if self.stage_of[c] == stage]
            last = tasks[-1]
            self.program.add_row(combine((1, {end: 1}), (-1, {starts[last]: 1}),
                                         (-1, self.get_duration(*last[:2])), *update), lower=0)  # fmt: skip
        for letter, chunk, micro_batch in starts:
            source = (letter, chunk - 1 if letter == "F" else chunk + 1, micro_batch)
            if letter != "W" and source in starts:
                apart = self.stage_of[source[1]] != self.stage_of[chunk]
                add_before(source, (letter, chunk, micro_batch), self.problem["comm_time"] if apart else 0)
        return end


def run_planner(bin_folder, path):
    """The time of the plan, or none if there is no plan."""
    command = [os.path.join(bin_folder, "mf-plan"), "--problem=" + path, "--json=-"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == INFEASIBLE:
        return None
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["is_proven"], found
    return found["time"]


def main():
    part = parts.pop_part()
    bin_folder, work_folder = sys.argv[1:3]
    seed = int(os.environ.get("MF_SEED", sys.argv[3] if len(sys.argv) > 3 else "1"))
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 50
    feasible, wrong = 0, 0
    numbers = part.select(range(count))
    for number in numbers:
        problem = draw_problem(random.Random("%d/%d" % (seed, number)))
        path = os.path.join(work_folder, "problem-%d.json" % number)
        with open(path, "w") as file:
            json.dump(problem, file, indent=1)
        expected = Formulation(problem, read_orders(bin_folder, problem)).solve()
        found = run_planner(bin_folder, path)
        feasible += expected is not None
        same = found is expected is None or (
            found is not None and expected is not None and abs(found - expected) <= TOLERANCE * expected)  # fmt: skip
        if not same:
            wrong += 1
            print("seed %d, %s: the program says %s, mf-plan %s" % (seed, path, expected, found))
    if part.is_whole() and count >= 50 and not 0.6 <= feasible / count < 1:
        wrong += 1
        print("expected that most problems, but not all, have a plan")
    print("%d problems, %d with a plan, %d wrong" % (len(numbers), feasible, wrong))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
