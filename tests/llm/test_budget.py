import asyncio

import pytest

from rewardgen.core.errors import BudgetExhausted
from rewardgen.llm import factory
from rewardgen.llm.archive import ArchivedLLM, read_archive
from rewardgen.llm.budget import Budget, BudgetedLLM
from rewardgen.llm.factory import RetryingLLM
from rewardgen.llm.litellm_client import LiteLLMClient
from rewardgen.llm.protocol import CallFailed
from rewardgen.store.messages import Reply, Usage
from rewardgen.testing.server import Answer, ChatServer
from tests.llm.requests import ask, ask_one, request


def tokens(count, cost=0.0):
    return Usage(prompt_tokens=count, cost_usd=cost, calls=1)


def taken(budget):
    return sum(usage.tokens for usage in budget.spent)


class Priced:
    """Estimates `bound` for a call, and takes `actual`, or fails."""

    def __init__(self, bound, actual, failing=False):
        self.bound, self.actual, self.failing = bound, actual, failing
        self.in_flight = self.most = self.calls = 0

    def estimate(self, request):
        return self.bound

    async def complete(self, request):
        self.calls += 1
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await asyncio.sleep(0.005)
        self.in_flight -= 1
        if self.failing:
            raise CallFailed("empty reply", usage=self.actual)
        return Reply(text="x", model="m", usage=self.actual)


def calls(number):
    return [request(f"call-{each}") for each in range(number)]


def test_call_that_does_not_fit_is_refused_before_it_is_made():
    llm = Priced(tokens(60), tokens(10))
    with pytest.raises(BudgetExhausted) as caught:
        ask_one(BudgetedLLM(llm, Budget(max_tokens=50)))
    assert llm.calls == 0
    assert "--max-tokens" in caught.value.hint


def test_limit_on_cost_is_kept_and_named():
    llm = Priced(tokens(1, cost=0.4), tokens(1, cost=0.3))
    results = ask(BudgetedLLM(llm, Budget(max_cost_usd=1.0)), *calls(5))
    assert [isinstance(each, Reply) for each in results] == [True, True, True, False, False]
    assert "--max-cost" in results[-1].hint
    assert "0.9000 are spent" in results[-1].message


def test_calls_in_flight_count_with_what_they_may_take():
    llm = Priced(tokens(40), tokens(40))
    budget = Budget(max_tokens=100)
    results = ask(BudgetedLLM(llm, budget), *calls(6))
    assert llm.most == 2
    assert sum(isinstance(each, Reply) for each in results) == 2
    assert taken(budget) == 80


def test_call_waits_for_those_in_flight_and_is_made_if_they_took_less():
    llm = Priced(tokens(80), tokens(5))
    budget = Budget(max_tokens=100)
    results = ask(BudgetedLLM(llm, budget), *calls(4))
    assert all(isinstance(each, Reply) for each in results)
    assert llm.most == 1
    assert taken(budget) == 20


def test_failed_call_counts_with_what_it_took_and_frees_the_rest():
    budget = Budget(max_tokens=100)
    results = ask(BudgetedLLM(Priced(tokens(90), tokens(10), failing=True), budget), *calls(2))
    assert all(isinstance(each, CallFailed) for each in results)
    assert taken(budget) == 20


def test_what_earlier_sessions_spent_counts():
    with pytest.raises(BudgetExhausted):
        ask_one(BudgetedLLM(Priced(tokens(20), tokens(20)), Budget(max_tokens=100, spent=[tokens(90)])))


def test_earlier_calls_without_a_price_leave_the_limit_on_cost_in_force():
    budget = Budget(max_cost_usd=0.5, spent=[tokens(9, cost=None), tokens(9, cost=0.3)])
    with pytest.raises(BudgetExhausted, match=r"0\.3000 are spent"):
        ask_one(BudgetedLLM(Priced(tokens(1, cost=0.4), tokens(1, cost=0.4)), budget))


def test_interrupted_call_frees_its_reservation():
    budget = Budget(max_tokens=100)
    llm = BudgetedLLM(Priced(tokens(90), tokens(90)), budget)

    async def interrupted():
        call = asyncio.create_task(llm.complete(request()))
        await asyncio.sleep(0.001)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    asyncio.run(interrupted())
    assert taken(budget) == 0
    assert isinstance(ask(llm, request())[0], Reply)


ODD = {
    "negative counts": Answer("x" * 600, usage={"prompt_tokens": -900, "completion_tokens": -900}),
    "half an answer": Answer(body=b'{"choices": [{"message": {"content": "' + b"x" * 500),
    "an empty reply": Answer(None, usage=None),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("limits", [{"max_tokens": 800}, {"max_cost_usd": 0.0002}], ids=["tokens", "cost"])
def test_limits_hold_over_sessions_whatever_a_server_counts(tmp_path, odd, limits, monkeypatch):
    monkeypatch.setattr(factory, "_ATTEMPTS", 2)
    results = []
    with ChatServer(odd) as server:
        for _ in range(2):
            client = LiteLLMClient("openai/gpt-4o-mini", api_base=server.api_base)
            spent = [call.usage for call in read_archive(tmp_path)]
            archive = ArchivedLLM(BudgetedLLM(client, Budget(**limits, spent=spent)), tmp_path)
            results += ask(RetryingLLM(archive), *calls(12))
    usage = archive.usage()
    assert any(isinstance(each, BudgetExhausted) for each in results)
    assert usage.calls == len(server.bodies) < 48
    assert 0 < usage.estimated_tokens == usage.tokens <= limits.get("max_tokens", 10_000)
    assert usage.cost_usd <= limits.get("max_cost_usd", 1.0)
