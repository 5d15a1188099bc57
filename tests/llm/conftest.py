import pytest

from rewardgen.llm import factory


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(factory, "_FIRST_WAIT_S", 0.01)
