"""Write the golden streams anew: `python -m tests.golden.write`. Explain the diff in the change."""

from __future__ import annotations

from tests.golden.streams import CASES, MESSAGES, PROTOCOLS, expected, golden_file, golden_text


def main() -> None:
    """Write every file, and remove those that no recording asks for."""
    texts = {case: golden_text(*case) for case in CASES}
    for folder in (*PROTOCOLS, *MESSAGES):
        (golden_file(folder, "x").parent).mkdir(exist_ok=True)
    for (folder, name), text in texts.items():
        if expected(folder, name) is None:
            golden_file(folder, name).write_bytes(text.encode())
    wanted = {golden_file(*case): text for case, text in texts.items() if expected(*case) != text}
    for folder in (*PROTOCOLS, *MESSAGES):
        for path in golden_file(folder, "x").parent.glob("*.txt"):
            if path not in wanted:
                path.unlink()
    for path, text in wanted.items():
        path.write_bytes(text.encode())


if __name__ == "__main__":
    main()
