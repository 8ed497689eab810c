"""Fuzz one target: `python -m tests.fuzz TARGET SECONDS`.

With Atheris, which follows the coverage of our code, wherever it has a wheel (Linux on x86-64, Python 3.11
to 3.13). Elsewhere Hypothesis feeds the same target for the same time, and says so. Ends with one line: the
engine and how many inputs were tried. A finding ends it with a stack, and its input in `tests/fuzz/found`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.target import target

FOUND = Path(__file__).parent / "found"
SLOWEST = 60
"""Seconds that one input may take, on any machine: a decoder that hangs is a finding, too."""
MOST_MEMORY = 2048
"""MiB, ADK's own imports among them."""


def main(name: str, seconds: float) -> None:
    """Fuzz a target for some seconds."""
    try:
        import atheris
    except ImportError:
        _with_hypothesis(name, seconds)
        return
    with atheris.instrument_imports(include=["adk_prism"]):
        fuzzed = target(name)
    # Not taken away here: the fuzzer ends the process itself.
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    seeds, words = folder / "seeds", folder / "words"
    seeds.mkdir()
    for n, seed in enumerate(fuzzed.seeds()):
        (seeds / f"{n:04}").write_bytes(seed)
        fuzzed.try_(seed)
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in fuzzed.words or ["0"]))
    options = [
        f"-max_total_time={seconds:.0f}",
        f"-max_len={fuzzed.longest}",
        f"-timeout={SLOWEST}",
        f"-rss_limit_mb={MOST_MEMORY}",
        f"-artifact_prefix={FOUND / name}-",
        f"-dict={words}",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    print(f"{name}: Atheris", flush=True)
    atheris.Setup([sys.argv[0], *options, str(seeds)], fuzzed.try_)
    atheris.Fuzz()


def _escaped(word: str) -> str:
    return "".join(c if c.isalnum() else f"\\x{ord(c):02x}" for c in word)


def _with_hypothesis(name: str, seconds: float) -> None:
    import hypothesis
    from hypothesis import strategies as st

    fuzzed = target(name)
    seeds = fuzzed.seeds()
    turned = st.builds(
        lambda seed, at, new: seed[: at % (len(seed) + 1)] + new + seed[at % (len(seed) + 1) :],
        st.sampled_from(seeds),
        st.integers(0, 10_000),
        st.binary(max_size=20),
    )
    until = time.monotonic() + seconds
    tried = 0

    @hypothesis.settings(
        max_examples=500,
        deadline=SLOWEST * 1000,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(st.binary(max_size=fuzzed.longest) | turned)
    def one(data: bytes) -> None:
        nonlocal tried
        tried += 1
        fuzzed.try_(data)

    while time.monotonic() < until:
        one()
    print(f"{name}: Hypothesis, for want of Atheris\nnumber_of_executed_units: {tried}")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
