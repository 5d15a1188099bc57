import threading
import time

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import BudgetExhausted, CredentialsError, ModelError, RunFolderError, UsageError
from rewardgen.llm.factory import lasting_model, make_llm
from rewardgen.store.messages import Reply
from rewardgen.store.run_folder import RunFolder
from rewardgen.testing.server import Answer, ChatServer
from tests.llm.requests import ask, ask_one, request

SOUND = Answer("x", prompt_tokens=20, completion_tokens=200)
FAULTY = Answer(None, prompt_tokens=20, completion_tokens=200)


def run_llm(folder, model, **config):
    return make_llm(RunConfig.model_validate({"task": "hopper", "model": model} | config), RunFolder(folder))


def test_limit_on_tokens_holds_over_sessions_and_retries(tmp_path):
    calls = [request(f"call-{number}") for number in range(10)]
    with ChatServer(lambda number, _: FAULTY if number % 3 == 0 else SOUND) as server:
        results = []
        for _ in range(2):
            llm = run_llm(tmp_path / "run", "local", api_base=server.api_base, max_tokens=2000)
            results += ask(llm, *calls)
    assert llm.usage().tokens == server.served.tokens <= 2000
    assert {type(each) for each in results} == {Reply, BudgetExhausted}


def test_recorded_run_is_replayed_by_its_name(tmp_path):
    with ChatServer(Answer("recorded reply")) as server:
        ask_one(run_llm(tmp_path / "20260101-000000-hopper-aaaa", "local", api_base=server.api_base))
    (tmp_path / "20260101-000000-hopper-aaaa" / "events.jsonl").write_text("{}\n")
    llm = run_llm(tmp_path / "second", "replay:20260101")
    assert ask_one(llm).text == "recorded reply"
    assert llm.usage().tokens == 0


@pytest.mark.parametrize("model", ["mailbox", "mailbox:", "replay", "replay:"])
def test_mailbox_or_replay_of_nothing_is_refused(tmp_path, model):
    for refuse in (lambda: run_llm(tmp_path / "run", model), lambda: lasting_model(model, tmp_path)):
        with pytest.raises(UsageError, match=f"`{model}` names no"):
            refuse()


def test_run_to_replay_must_exist(tmp_path):
    with pytest.raises(RunFolderError):
        run_llm(tmp_path / "run", "replay:nothing")


def test_mailbox_is_chosen_by_its_prefix(tmp_path):
    box = tmp_path / "box"

    def reply():
        while not (posted := next(box.glob("*.request.md"), None)):
            time.sleep(0.02)
        posted.with_name(posted.name.replace(".request.", ".reply.")).write_text("by hand")

    threading.Thread(target=reply, daemon=True).start()
    assert ask_one(run_llm(tmp_path / "run", f"mailbox:{box}")).text == "by hand"


def test_unknown_kind_of_model_suggests_the_right_one(tmp_path):
    with pytest.raises(UsageError) as caught:
        run_llm(tmp_path, "malbox:here")
    assert "`mailbox:here`" in caught.value.hint


def test_colon_in_a_model_name_is_not_a_kind(tmp_path):
    with ChatServer() as server:
        ask_one(run_llm(tmp_path, "replika:8b", api_base=server.api_base))
    assert server.bodies[0]["model"] == "replika:8b"


def test_missing_key_and_unknown_model_are_told_when_the_model_is_made(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(CredentialsError):
        run_llm(tmp_path, "openai/gpt-4o")
    with pytest.raises(ModelError):
        run_llm(tmp_path, "no-such-model")


def test_limit_on_the_cost_of_a_model_without_a_price_is_refused_before_any_work(tmp_path):
    with pytest.raises(UsageError, match="price"):
        run_llm(tmp_path / "run", "local", api_base="http://127.0.0.1:9/v1", max_cost=1.0)


def test_the_critic_may_have_a_model_of_its_own_and_both_share_one_budget(tmp_path):
    models = {"critic_model": "cheap", "max_tokens": 700}
    with ChatServer(SOUND) as server:
        llm = run_llm(tmp_path / "run", "dear", api_base=server.api_base, **models)
        calls = [request(f"g00-k{number}/{role}/x") for number in range(5) for role in ("designer", "critic")]
        results = ask(llm, *calls)
    asked = {body["model"].split("/")[-1] for body in server.bodies}
    assert asked == {"dear", "cheap"}
    assert llm.usage().tokens == server.served.tokens <= 700
    assert {type(each) for each in results} == {Reply, BudgetExhausted}


def test_a_critic_may_read_what_the_built_in_designer_writes(tmp_path):
    with ChatServer(Answer("{}")) as server:
        llm = run_llm(tmp_path / "run", "builtin", api_base=server.api_base, critic_model="cheap")
        assert ask_one(llm, request("g00-k0/critic/reading-0")).text == "{}"
