"""Random histories: every backend answers as the model does."""

from __future__ import annotations

from unittest import TestCase

from hypothesis import HealthCheck, settings
from tests.log.stores import memory, redis, sqlite, sqlite_with_a_short_tail

from adk_prism.testing.runlog_machine import machine_for

# 1 500 steps for every backend, in a few seconds. The files of a history take a moment to make, and
# a busy machine is not a defect.
SETTINGS = settings(
    max_examples=30,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def case_for(store: object) -> type[TestCase]:
    case = machine_for(store).TestCase
    case.settings = SETTINGS
    return case


TestMemory = case_for(memory)
TestSqlite = case_for(sqlite)
TestSqliteWithAShortTail = case_for(sqlite_with_a_short_tail)
TestRedis = case_for(redis)
