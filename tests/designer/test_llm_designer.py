import asyncio

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import BudgetExhausted, CredentialsError, ModelError
from rewardgen.designer.llm_designer import LLMDesigner, parse_reply
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.store.messages import Reply
from rewardgen.store.records import Candidate, DesignRequest, Finding
from rewardgen.testing.scripted import ScriptedLLM
from tests.builders import card, record

CODE = 'def compute_reward(speed, *, weight: float = 1.0):\n    """Go."""\n    return {"speed": weight * speed}\n'

REPLY = f"""DIAGNOSIS: Reward speed, bounded. The robot starts at rest.
A policy could shake; the clamp prevents it.
PREDICTION: Mean speed exceeds 1 m/s.
```python
{CODE}```
"""


def request(**changes):
    values = {
        "candidate_id": "g01-k2",
        "generation": 1,
        "operator": "edit",
        "card": card(),
        "parents": (record("g00-k0", 1.0),),
    }
    return DesignRequest.model_validate(values | changes)


def design(answer, **config):
    llm = ScriptedLLM(answer)
    designer = LLMDesigner(llm, RunConfig.model_validate({"task": "point"} | config))
    return asyncio.run(designer.design(request())), llm


def repair(answer, findings=()):
    llm = ScriptedLLM(answer)
    rejected = Candidate(
        id="g01-k2", generation=1, operator="edit", source="bad code", diagnosis="old", prediction="old"
    )
    designer = LLMDesigner(llm, RunConfig(task="point"))
    return asyncio.run(designer.repair(request(), rejected, findings)), llm


@pytest.mark.parametrize(
    "reply",
    [
        f"DIAGNOSIS: It falls.\n\n```python\n{CODE}```\n\nPREDICTION: fitness >= 0.5\n",
        f"DIAGNOSIS: Of\n```python\nup = 1.0\n```\nit falls.\n\nPREDICTION: fitness >= 0.5\n\n```python\n{CODE}```\n",
    ],
    ids=["after the code", "after a quotation"],
)
def test_a_prediction_is_found_wherever_it_stands(reply):
    assert parse_reply(reply).prediction == "fitness >= 0.5"


def test_reply_becomes_a_candidate_with_its_source_and_reasons():
    candidate, _ = design(REPLY)
    assert candidate.source == CODE
    assert candidate.diagnosis.startswith("Reward speed, bounded.") and candidate.diagnosis.endswith("prevents it.")
    assert candidate.prediction == "Mean speed exceeds 1 m/s."
    assert (candidate.id, candidate.operator, candidate.parents, candidate.failure) == (
        "g01-k2",
        "edit",
        ("g00-k0",),
        "",
    )


def test_call_is_labelled_with_candidate_and_operator_and_has_the_runs_temperature():
    _, llm = design(REPLY, temperature=0.4)
    assert llm.requests[0].label == "g01-k2/designer/edit"
    assert llm.requests[0].temperature == 0.4


@pytest.mark.parametrize(
    ("reply", "diagnosis", "prediction"),
    [
        ("**DIAGNOSIS:** too slow\n\n**PREDICTION:** faster\n", "too slow", "faster"),
        ("## Diagnosis: too slow\n## Prediction: faster\n", "too slow", "faster"),
        ("PREDICTION: faster\nDIAGNOSIS: too slow\n", "too slow", "faster"),
        ("It is too slow.\n", "It is too slow.", ""),
        ("DIAGNOSIS: too slow\n", "too slow", ""),
        ("", "", ""),
    ],
)
def test_headings_are_found_in_the_forms_in_which_models_write_them(reply, diagnosis, prediction):
    parts = parse_reply(f"{reply}```python\n{CODE}```\n")
    assert (parts.diagnosis, parts.prediction, parts.source) == (diagnosis, prediction, CODE)


def test_words_in_the_code_are_not_headings():
    code = CODE.replace('"""Go."""', "# PREDICTION: none")
    assert parse_reply(f"DIAGNOSIS: a\n```python\n{code}```").prediction == ""


def test_long_prose_is_cut_and_says_so():
    parts = parse_reply(f"DIAGNOSIS: {'a ' * 9_000}\nPREDICTION: {'b ' * 9_000}\n```python\n{CODE}```")
    assert parts.diagnosis.startswith("a a") and parts.diagnosis.endswith("a [cut]") and len(parts.diagnosis) < 4_100
    assert parts.prediction.endswith("b [cut]") and parts.source == CODE


def test_reply_without_code_is_a_failed_candidate_that_quotes_it():
    candidate, _ = design("I am sorry, but I cannot do that.")
    assert candidate.source == ""
    assert "I am sorry" in candidate.failure


def test_a_reply_that_was_cut_in_its_code_says_so_and_one_cut_after_it_is_whole():
    half = Reply(text=REPLY.removesuffix("```\n"), model="scripted", cut=True)
    candidate, _ = design(half)
    assert not candidate.source and "cut in the middle of its code, at the limit of" in candidate.failure
    whole, _ = design(Reply(text=f"{REPLY}And one more", model="scripted", cut=True))
    assert whole.source == CODE


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (CallFailed("the server did not answer"), "no reply: the server did not answer"),
        (CallRefused("the prompt is too long"), "request refused: the prompt is too long"),
    ],
)
def test_call_without_a_reply_is_a_failed_candidate(error, failure):
    candidate, _ = design(error)
    assert candidate.failure == failure


@pytest.mark.parametrize("error", [CredentialsError("refused"), ModelError("unknown"), BudgetExhausted("spent")])
def test_errors_that_concern_the_whole_run_are_raised(error):
    with pytest.raises(type(error)):
        design(error)
    with pytest.raises(type(error)):
        repair(error)


def test_repair_goes_on_in_the_thread_and_is_the_next_version():
    finding = Finding(gate="parse", detector="syntax", severity="reject", message="line 1: invalid syntax", line=1)
    repaired, llm = repair(REPLY, [finding])
    assert (repaired.source, repaired.repairs, repaired.id) == (CODE, 1, "g01-k2")
    assert llm.requests[0].label == "g01-k2/designer/repair-1"
    assert [each.role for each in llm.requests[0].messages] == ["system", "user", "assistant", "user"]
    assert "line 1: invalid syntax" in llm.requests[0].messages[-1].content


def test_repair_without_new_reasons_keeps_the_old_ones():
    repaired, _ = repair(f"```python\n{CODE}```")
    assert (repaired.diagnosis, repaired.prediction) == ("old", "old")


@pytest.mark.parametrize("answer", ["no code", CallFailed("no answer")])
def test_repair_that_brings_no_code_is_none(answer):
    assert repair(answer)[0] is None
