"""`adk-prism eval`: runs an eval set with ADK's evaluators; each case is a recorded run."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import msgspec

from adk_prism.cli import FAILURE, USAGE, DiagnosticPrinter, fail, note
from adk_prism.cli.terminal import Row, printable, progress, write_json, write_rows, write_suite
from adk_prism.errors import LogError, PrismError, SourceError, UsageError
from adk_prism.features.captures import stored_runs
from adk_prism.features.captures.client import Client, connect
from adk_prism.features.rerun import trials
from adk_prism.features.rerun.command import instructions_of, other_code
from adk_prism.features.usage.usage import Prices, said_costs, total_cost
from adk_prism.log.entry import Entry, RunId
from adk_prism.server.settings import read_settings

if TYPE_CHECKING:
    from adk_prism.adk.apps import Apps
    from adk_prism.adk.request import Variant
    from adk_prism.features.rerun.changed_app import Changes
    from adk_prism.server.context import Context

AGAIN = 1.0
"""Seconds after which a server is asked again how an evaluation goes."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("set", metavar="SET", help="file of an eval set, e.g. weather.evalset.json")
    parser.add_argument(
        "app",
        metavar="APP",
        nargs="?",
        default="",
        help="folder of the agent, or name of an app of --url or of an example (default: the folder of SET)",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="criteria, as for adk eval (default: test_config.json beside SET, else those of adk eval)",
    )
    parser.add_argument(
        "--case", metavar="ID", action="append", default=[], help="run only this case; repeatable"
    )
    parser.add_argument(
        "--answers",
        choices=("none", "recorded"),
        default="none",
        help="recorded: give approvals and results of client tools again; approved tools run",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--junit", metavar="FILE", help="also write the results as JUnit XML, for CI"
    )
    trials.add_trial_arguments(parser)
    stored_runs.add_arguments(parser)
    stored_runs.add_prices(parser)
    parser.epilog = (
        "Exit codes: 0 every case passed, or with --trials often enough; 1 one did not; 2 the set cannot"
        " be run."
    )


def execute(args: argparse.Namespace) -> int:
    """Run the set. Return 1 if a case did not pass."""
    try:
        plan = trials.read_plan(args)
        if plan.trials:
            with progress("Running trials…"):
                tallies = asyncio.run(_trials(args, plan))
            return trials.show_trials(tallies, plan, args, "case")
        with progress("Running the eval set…"):
            found = asyncio.run(_evaluate(args))
        if args.junit:
            write_junit(Path(args.junit), found)
    except PrismError as error:  # Not 1: that is for cases that fail.
        return fail(error.detail, USAGE)
    if args.json:
        write_json(found)
    else:
        write_rows(_rows(found))
    missed = [each for each in found["cases"] if each["verdict"] != "passed"]
    return (
        fail(f"{len(missed)} of {len(found['cases'])} cases did not pass", FAILURE) if missed else 0
    )


async def _evaluate(args: argparse.Namespace) -> dict[str, Any]:
    # Importing ADK takes seconds, so arguments are parsed first.
    from adk_prism.features.evaluation.criteria import read_eval_set

    path = Path(args.set)
    eval_set = read_eval_set(path)
    if args.url:
        return await _on_server(args, path, args.app or eval_set_app(eval_set))
    return await _here(args, path, eval_set)


async def _here(args: argparse.Namespace, path: Path, eval_set: Any) -> dict[str, Any]:
    from adk_prism.features.evaluation.criteria import config_beside, read_criteria
    from adk_prism.features.evaluation.evaluation import Evaluation
    from adk_prism.features.evaluation.evaluations import Evaluator, shown_cases

    folder, app = _place(args.app, path)
    criteria = read_criteria(Path(args.config) if args.config else config_beside(path))
    evaluation = Evaluation(
        app or eval_set_app(eval_set),
        eval_set,
        criteria,
        args.case,
        answers=args.answers == "recorded",
    )
    async with _serving(folder, args) as context:
        found = await Evaluator(context).run(evaluation)
    return {"evalSetId": evaluation.set_id, **shown_cases(found)}


async def _trials(args: argparse.Namespace, plan: trials.Plan) -> list[trials.Tally]:
    """Run the cases many times, in all columns."""
    from adk_prism.features.evaluation.criteria import config_beside, read_criteria, read_eval_set
    from adk_prism.features.evaluation.evaluation import Evaluation, Trial
    from adk_prism.features.evaluation.evaluations import Evaluator, shown_cases
    from adk_prism.features.evaluation.stored_trials import store_trials
    from adk_prism.features.rerun.changed_app import Changes

    if args.url:
        raise UsageError("--trials runs the set here; leave --url out.")
    path, prices = Path(args.set), stored_runs.given_prices(args)
    eval_set = read_eval_set(path)
    folder, app = _place(args.app, path)
    app = app or eval_set_app(eval_set)
    criteria = read_criteria(Path(args.config) if args.config else config_beside(path))
    answers = args.answers == "recorded"
    changes = {
        column.name: Changes(
            model=column.model,
            instructions=instructions_of([column.instruction] if column.instruction else []),
            tools="live",
        )
        for column in plan.columns
    }
    whole = Evaluation(app, eval_set, criteria, args.case)  # refuses cases that there are not
    with ExitStack() as stack:
        others = {
            column.name: stack.enter_context(other_code(column.folder, None, with_calls=False))
            for column in plan.columns
            if column.folder
        }
        async with _serving(folder, args) as context:

            async def try_once(
                column: trials.Column, subjects: Sequence[str]
            ) -> list[trials.Trial]:
                if column.name in others:
                    own = argparse.Namespace(**{**vars(args), "url": others[column.name]})
                    own.token, own.token_file, own.case = None, None, list(subjects)
                    found = await _on_server(own, path, app)
                    async with connect(own.url) as http:
                        client = Client(http)
                        return [await _trial(c, client.recording, prices) for c in found["cases"]]
                variant = await _variant(context.apps, app, changes[column.name])
                trial = Trial(variant)
                evaluation = Evaluation(
                    app, eval_set, criteria, subjects, answers=answers, trial=trial
                )
                cases = shown_cases(await Evaluator(context).run(evaluation))["cases"]

                async def entries(run: str) -> list[Entry]:
                    return [e async for batch in context.log.read(RunId(run)) for e in batch]

                return [await _trial(case, entries, prices) for case in cases]

            tallies = await trials.run_trials(plan, [case.id for case in whole.cases], try_once)
            try:
                place = Evaluator(context).folder(app)
                await asyncio.to_thread(store_trials, place, app, whole.set_id, tallies)
            except OSError as error:
                note(f"the page will not show these trials: {error.strerror or error}")
            return tallies


async def _variant(apps: Apps, app: str, changes: Changes) -> Variant | None:
    """Return an app with changes; None: it is as it is. Raise `Unprocessable`."""
    from adk_prism.adk.request import Repeats, Variant
    from adk_prism.features.rerun.changed_app import changed_runner

    if not (changes.model or changes.instructions):
        return None
    await apps.open(app)
    runner = changed_runner(apps.runner(app, "rerun"), changes)
    names = sorted(changes.instructions)
    repeats = Repeats(run="", model=changes.model, instructions=names, tools="live")
    return Variant(runner=runner, repeats=repeats, tools=None)


async def _trial(
    case: dict[str, Any], entries: Callable[[str], Awaitable[list[Entry]]], prices: Prices
) -> trials.Trial:
    """Return a case that was evaluated as a trial."""
    from adk_prism.features.page.outline import outline

    read = [outline(await entries(run), prices=prices) for run in case["runs"]]
    costs = said_costs(cost for each in read for cost in each.costs)
    return trials.Trial(
        subject=case["id"],
        passed=case["verdict"] == "passed",
        why=_why(case),
        run=case["runs"][-1] if case["runs"] else "",
        seconds=sum(each.seconds for each in read),
        cost=total_cost(costs) if costs else None,
    )


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the server that runs the cases; `insecure`, since it does not listen."""
    return {"insecure": True} | ({"log": args.log} if args.log else {})


@asynccontextmanager
async def _serving(folder: Path | None, args: argparse.Namespace) -> AsyncIterator[Context]:
    """Open a server that does not listen. Raise `LogError` that says what to do beside another server."""
    from adk_prism.server.app import create_app

    settings = read_settings(_given(args), os.environ, Path.cwd())
    server = create_app(folder, settings, report=DiagnosticPrinter())
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(server.router.lifespan_context(server))
        except LogError as error:
            uses, is_taken, _ = error.detail.partition(": SQLite is for one process.")
            if not is_taken:
                raise
            raise LogError(f"{uses}. {_BESIDE}") from error
        yield server.state.context


_BESIDE = (
    "Beside a running server, let that one run the set (--url http://127.0.0.1:8000), or keep the runs apart"
    " (--log memory: or --log sqlite:///FILE)."
)


async def _on_server(args: argparse.Namespace, path: Path, app: str) -> dict[str, Any]:
    """Let a server run the set, which is sent to it. Raise `SourceError` if it cannot."""
    from adk_prism.features.evaluation.criteria import config_beside, id_of

    config = Path(args.config) if args.config else config_beside(path)
    body = {"set": id_of(path), "evalSet": _json(path), "cases": args.case, "answers": args.answers}
    if config is not None:
        body["config"] = _json(config)
    async with stored_runs.opened(args) as place:
        assert isinstance(place, Client), "--url names a server"
        found = await place.evaluate(app, body)
        while found["status"] == "running":
            await asyncio.sleep(AGAIN)
            found = await place.evaluation(app, found["id"])
    if found["status"] == "failed":
        raise SourceError(found["error"])
    return found


def _json(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read: {error.strerror}.") from None
    except msgspec.MsgspecError:
        raise UsageError(f"{path.name} is not JSON.") from None


def _place(app: str, set_file: Path) -> tuple[Path | None, str]:
    """Return the folder of apps (None: the example apps) and the name of the app (empty: the cases say)."""
    from adk_prism.adk.app_folder import is_agent_folder

    if not app:
        beside = set_file.resolve().parent
        return (beside.parent, beside.name) if is_agent_folder(beside) else (None, "")
    folder = Path(app)
    if not folder.is_dir():
        if "/" in app or os.sep in app:
            raise UsageError(f"There is no folder {app[:200]!r}.")
        return None, app
    return folder.resolve().parent, folder.resolve().name


def eval_set_app(eval_set: Any) -> str:
    """Return the app that the cases of a set name. Raise `UsageError` if they name none."""
    named = [case.session_input.app_name for case in eval_set.eval_cases if case.session_input]
    if not named or not named[0]:
        raise UsageError("The set does not say which app it is for; name the agent's folder.")
    return str(named[0])


def _rows(found: dict[str, Any]) -> Iterator[Row]:
    for case in found["cases"]:
        title = (
            f"{case['verdict'].upper():<14}{printable(case['id'])}  {printable(case['text'])[:60]}"
        )
        yield Row(title, "good" if case["verdict"] == "passed" else "error")
        for metric in case["metrics"]:
            yield Row(f"  {_metric(metric)}")
        if case.get("error"):
            yield Row(f"  {printable(case['error'])}", "error")
        for run in case["runs"]:
            yield Row(f"  run {run}", "dim")
    passed = sum(case["verdict"] == "passed" for case in found["cases"])
    yield Row(f"{found['evalSetId']}: {passed} of {len(found['cases'])} passed", "strong")


def _metric(metric: dict[str, Any]) -> str:
    score = "–" if metric["score"] is None else f"{metric['score']:g}"
    threshold = "" if metric["threshold"] is None else f" (at least {metric['threshold']:g})"
    reason = f": {printable(metric['reason'])}" if metric.get("reason") else ""
    return f"{metric['name']:<30}{score}{threshold} {metric['verdict']}{reason}"


# ---------------------------------------------------------------------------
# Results as a JUnit file, which CI servers show as tests.


def write_junit(path: Path, found: dict[str, Any]) -> None:
    """Write the cases as tests. Raise `UsageError` if the file cannot be written."""
    missed = [case for case in found["cases"] if case["verdict"] != "passed"]
    counts = {"tests": str(len(found["cases"])), "failures": str(len(missed))}
    suite = ElementTree.Element("testsuite", {"name": found["evalSetId"], **counts})
    for case in found["cases"]:
        names = {"classname": found["evalSetId"], "name": trials.xml_text(case["id"])}
        test = ElementTree.SubElement(suite, "testcase", names)
        if case in missed:
            message = trials.xml_text(_why(case))
            failure = ElementTree.SubElement(test, "failure", {"message": message})
            failure.text = "\n".join(f"run {run}" for run in case["runs"])
    write_suite(path, suite)


def _why(case: dict[str, Any]) -> str:
    scores = [
        f"{each['name']} {each['score']} < {each['threshold']}"
        for each in case["metrics"]
        if each["verdict"] == "failed"
    ]
    return "; ".join(filter(None, [case.get("error"), *scores])) or str(case["verdict"])
