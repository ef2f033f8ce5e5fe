"""python -m kforge_client judge TASK FILE | tasks | task NAME | health"""
from __future__ import annotations

import argparse
import json
import sys
from typing import List, Optional

from . import Client, RequestError, ServerError, Unreachable


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "kforge_client", description="Asks kforge serve. Status: 0 correct, 1 not correct, "
        "2 the call is wrong, 3 the machine is at fault."
    )
    parser.add_argument("--server", help="address (KFORGE_SERVER, else a local server)")
    parser.add_argument("--token", help="token of the server (KFORGE_TOKEN)")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds (900)")
    commands = parser.add_subparsers(dest="command", required=True)
    judge = commands.add_parser("judge", help="judge a file")
    judge.add_argument("task")
    judge.add_argument("file", help="a source; - is standard input")
    judge.add_argument("--reply", action="store_true", help="the file is a model's whole reply")
    judge.add_argument("--mode", choices=("check", "time", "verify"))
    judge.add_argument("--reward", help="function of the reward, as kevin")
    judge.add_argument("--flag", action="append", dest="flags", help="flag for the compiler")
    judge.add_argument("--json", action="store_true", help="print the whole answer")
    commands.add_parser("tasks", help="list the tasks")
    commands.add_parser("task", help="show a task").add_argument("task")
    commands.add_parser("health", help="show the server's state")
    return parser


def clean(text: str) -> str:
    """Returns text of a candidate without characters that steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def judged(client: Client, given: argparse.Namespace) -> int:
    if given.file == "-":
        text = sys.stdin.read()
    else:
        with open(given.file, encoding="utf-8", errors="replace", newline="") as file:
            text = file.read()
    fields = {k: getattr(given, k) for k in ("mode", "reward", "flags") if getattr(given, k)}
    fields["reply" if given.reply else "source"] = text
    result = client.judge(given.task, **fields)
    if given.json:
        print(json.dumps(result.answer or {"status": result.status, "scorable": False,
                                           "reward": None, "summary": result.summary}))
    else:
        print(clean(result.feedback()))
        if result.reward is not None:
            print("reward %.4g" % result.reward)
    return 0 if result.correct else 1 if result.scorable else 3


def main(words: Optional[List[str]] = None) -> int:
    given = arguments().parse_args(words)
    try:
        with Client(given.server, given.token, timeout=given.timeout) as client:
            if given.command == "judge":
                return judged(client, given)
            answers = {"tasks": client.tasks, "health": client.health}
            answer = client.task(given.task) if given.command == "task" else \
                answers[given.command]()
            print(json.dumps(answer, indent=2))
            return 0
    except (RequestError, OSError) as error:
        print("kforge_client: %s" % clean(str(error)), file=sys.stderr)
        return 2
    except (ServerError, Unreachable) as error:
        print("kforge_client: %s" % clean(str(error)), file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
