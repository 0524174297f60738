"""The house stays in order: no loose module, no long one, one table of task fields, one `play`.

Each rule is a function from sources to what breaks it, so that it is also held against a source
that does break it: a rule that finds nothing must be one that could.
"""

from __future__ import annotations

import ast
import statistics
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from prema_gym.workloads.workload import WorkloadArrays

ROOT = Path(__file__).parents[1]
PACKAGE = ("prema_gym", "agents", "baselines")
LEAVES = {
    "__init__.py": "registers the environments",
    "checks.py": "what a value may be, for every room",
    "errors.py": "what can go wrong, in every room",
    "__main__.py": "`python -m prema_gym` is `prema-gym`",
    "files.py": "how files are read and written, in every room",
    "lazy.py": "how a room offers names without loading what is behind them",
    "moved.py": "where the classes are that pickles of an older version name",
}
"""The modules that lie in no room, each with its reason."""

TASK_FIELDS = tuple(name for name in WorkloadArrays._fields if name != "num_tasks")
MODULE_LINES, MEDIAN_LINES, FUNCTION_LINES = 400, 130, 60
Sources = Mapping[str, str]
"""Text of each file, by its path from the top of the tree."""


def read(*folders: str) -> Sources:
    """All Python files in folders of the tree."""
    files = (file for folder in folders for file in sorted((ROOT / folder).rglob("*.py")))
    return {str(file.relative_to(ROOT)): file.read_text() for file in files}


def nodes(sources: Sources) -> Iterator[tuple[str, ast.AST]]:
    """Every node of every file's syntax tree, with the file's path."""
    for path, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            yield path, node


def loose_modules(sources: Sources) -> list[str]:
    """Modules that lie beside the rooms without a reason."""
    beside = (path for path in sources if path.count("/") == 1 and path.startswith("prema_gym/"))
    return [path for path in beside if path.removeprefix("prema_gym/") not in LEAVES]


def long_modules(sources: Sources) -> list[str]:
    """Modules that are too long to be read in one go."""
    return [path for path, text in sources.items() if len(text.splitlines()) > MODULE_LINES]


def long_functions(sources: Sources) -> list[str]:
    """Functions that are too long, docstring included."""
    return [
        f"{path}: {node.name}"
        for path, node in nodes(sources)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]


TASK_TABLES = {
    "prema_gym/workloads/fields.py": "the one",
    "prema_gym/workloads/tasks.py": "what a person says of a task, in a person's units",
    "prema_gym/metrics/outcomes.py": "what metrics are computed from, played here or elsewhere",
}


def second_task_tables(sources: Sources) -> list[str]:
    """Places outside the table that repeat four task fields or more, as names or as copies."""
    return [
        f"{path}:{getattr(node, 'lineno', 0)}: {', '.join(sorted(found))}"
        for path, node in nodes(sources)
        if path not in TASK_TABLES and len(found := _listed_by(node) & set(TASK_FIELDS)) >= 4
    ]


def _listed_by(node: ast.AST) -> set[str]:
    """The names that a node lists: strings side by side, fields of a class, copies of fields."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return {str(e.value) for e in node.elts if isinstance(e, ast.Constant)}
    if isinstance(node, ast.Dict):
        return {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
    if isinstance(node, ast.ClassDef):
        return {
            line.target.id
            for line in node.body
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        }
    if isinstance(node, ast.Call):
        return {k.arg for k in node.keywords if k.arg is not None and _field(k.value) == k.arg}
    if isinstance(node, ast.FunctionDef | ast.For | ast.While | ast.If):
        return {
            str(_field(line.value))
            for line in node.body
            if isinstance(line, ast.Assign) and _field(line.targets[0]) == _field(line.value)
        }
    return set()


def _field(node: ast.expr) -> str | None:
    """The field that ``x.field``, ``x["field"]`` or a part of it names."""
    while isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return node.slice.value
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else None


def second_play_loops(sources: Sources) -> list[str]:
    """Loops that ask a policy and step what it plays, outside the one that does."""
    return [
        f"{path}:{node.lineno}"
        for path, node in nodes(sources)
        if isinstance(node, ast.While | ast.For)
        and path not in PLAYS
        and {"predict", "step"} <= _methods_called(node)
    ]


PLAYS = {
    "prema_gym/evaluation/playing.py": "the one",
    "prema_gym/envs/datasets.py": "a data set holds what an environment returned: rewards, infos",
}


def _methods_called(node: ast.AST) -> set[str]:
    return {
        call.func.attr
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    }


def hidden_mains(sources: Sources) -> list[str]:
    """Modules that are commands of their own: a command is a file of ``cli/commands``."""
    main = '__name__ == "__main__"'
    own = "prema_gym/__main__.py"
    return [path for path, text in sources.items() if main in text and path != own]


def places_put_before_errors(sources: Sources) -> list[str]:
    """Messages changed by hand, where ``errors.located`` says the place."""
    return [
        f"{path}:{node.lineno}"
        for path, node in nodes(sources)
        if path != "prema_gym/errors.py"
        and isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Attribute) and t.attr == "args" for t in node.targets)
    ]


Rule = Callable[[Sources], list[str]]
LISTING = "x = ['profile', 'priority', 'batch_size', 'network']"
COPIES = "f(profile=a.profile, priority=a.priority, network=a['network'], batch_size=a.batch_size)"
ASSIGNED = "def f():\n" + "".join(f" a.{n}[0] = b.{n}[1]\n" for n in TASK_FIELDS[:4])
RULES: tuple[tuple[Rule, Sources], ...] = (
    (loose_modules, {"prema_gym/helpers.py": ""}),
    (long_modules, {"prema_gym/envs/env.py": "\n" * (MODULE_LINES + 1)}),
    (long_functions, {"prema_gym/envs/env.py": "def f():\n" + " x = 1\n" * FUNCTION_LINES}),
    (second_task_tables, {"prema_gym/envs/env.py": LISTING}),
    (second_task_tables, {"prema_gym/envs/env.py": COPIES}),
    (second_task_tables, {"prema_gym/envs/env.py": ASSIGNED}),
    (second_play_loops, {"agents/a.py": "while x:\n a = p.predict(o)\n s.step(a)"}),
    (hidden_mains, {"agents/a.py": 'if __name__ == "__main__":\n    main()'}),
    (places_put_before_errors, {"agents/a.py": "error.args = (f'{where}: {error}',)"}),
)


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, _ in RULES))
def test_the_tree_keeps_the_rule(rule: Rule) -> None:
    assert rule(read(*PACKAGE)) == []


@pytest.mark.parametrize(("rule", "broken"), RULES)
def test_what_breaks_the_rule_is_found(rule: Rule, broken: Sources) -> None:
    assert len(rule(broken)) == 1


def test_tools_keep_the_rules_that_are_theirs_too() -> None:
    tools = {**read("benchmarks", "docs"), "train.py": (ROOT / "train.py").read_text()}
    for rule in (long_modules, long_functions, second_task_tables, places_put_before_errors):
        assert rule(tools) == []


def test_the_leaves_are_there() -> None:
    assert {file.name for file in (ROOT / "prema_gym").glob("*.py")} == set(LEAVES)


def test_most_modules_are_short() -> None:
    lengths = [len(text.splitlines()) for text in read(*PACKAGE).values()]
    assert statistics.median(lengths) <= MEDIAN_LINES


def test_every_module_says_first_what_is_in_it() -> None:
    silent = [
        path for path, text in read(*PACKAGE).items() if not ast.get_docstring(ast.parse(text))
    ]
    assert silent == []


def folders(*tops: str) -> set[str]:
    """Folders that hold modules, as their path inside ``prema_gym`` or from the top."""
    return {
        str(Path(path).parent).removeprefix("prema_gym").removeprefix("/") for path in read(*tops)
    }


def test_the_tests_mirror_the_package() -> None:
    tested = {path.removeprefix("tests").removeprefix("/") for path in folders("tests")}
    there = folders(*PACKAGE, "docs", "benchmarks") | {"docs"}
    assert tested - there == set(), "a folder of tests for what does not exist"
    rooms = {path.partition("/")[0] for path in folders(*PACKAGE)}
    assert rooms - tested == set(), "a room without tests"
