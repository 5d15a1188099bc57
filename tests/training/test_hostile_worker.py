"""A candidate that took over its training worker gains nothing by it, and harms no other."""

import os

import pytest

from rewardgen.store.records import SliceSpec
from rewardgen.training.measuring import take_policies
from tests.training.hostile import train

FORGED = """
for point in told["curve"]:
    point["fitness"], point["success_rate"] = 1e9, 1.0
told["final_fitness"], told["final_success_rate"] = 1e9, 1.0
told["policy"] = "good-s0.npz"
told["episodes"][0]["fitness"] = 1e9
"""


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return train(tmp_path_factory.mktemp("honest"))


def test_fitness_that_a_training_claims_is_not_believed(tmp_path, honest):
    heard = train(tmp_path, FORGED)
    for id in ("good", "bad"):
        forged, sound = heard.results[id, 0], honest.results[id, 0]
        assert forged.failure is None
        assert forged.final_fitness == pytest.approx(sound.final_fitness)
        assert forged.final_success_rate == pytest.approx(sound.final_success_rate)
        assert forged.policy == f"{id}-s0.npz"


OUT_OF_CONTRACT = {
    "another candidate's slice": "told['candidate_id'] = 'good'",
    "reports without end": "for _ in range(100): self._slices._report(REPORT)",
}
REPORT = {"candidate_id": "bad", "seed": 0, "env_steps": 1024, "fitness": 1e9, "success_rate": 1.0}


@pytest.mark.parametrize("lie", OUT_OF_CONTRACT)
def test_what_is_out_of_contract_is_the_failure_of_who_said_it(tmp_path, honest, lie):
    deed = OUT_OF_CONTRACT[lie].replace("REPORT", repr(REPORT))
    heard = train(tmp_path, deed)
    assert heard.failure and heard.failure.kind == "crash"
    assert "out of contract" in heard.failure.message or "malformed" in heard.failure.message
    assert heard.failure.message.isprintable() and len(heard.failure.message) < 400
    good = heard.results["good", 0]
    assert good.failure is None and good.final_fitness == pytest.approx(honest.results["good", 0].final_fitness)


@pytest.mark.parametrize("name", ["TaskError", "RunFolderError"])
def test_no_error_that_a_training_answers_with_ends_the_run(tmp_path, name):
    heard = train(tmp_path, f"raise errors.{name}('give up\\x1b[2J' + 100000 * '!', 'ask someone else')")
    assert heard.failure and heard.failure.kind == "crash" and "give up" in heard.failure.message
    assert heard.failure.message.isprintable() and len(heard.failure.message) < 4000
    assert heard.results["good", 0].failure is None


def test_a_file_that_is_no_policy_is_the_failure_of_its_slice(tmp_path, honest):
    heard = train(tmp_path, "policy.write_bytes(pickle.dumps(told))")
    assert heard.failure and heard.failure.kind == "crash" and "could not be measured" in heard.failure.message
    assert heard.results["bad", 0].policy is None and heard.results["bad", 0].final_fitness is None
    good = heard.results["good", 0].final_fitness
    assert good == pytest.approx(honest.results["good", 0].final_fitness)
    assert not (tmp_path / "policies" / "bad-s0.npz").exists()


POLICIES = {
    "missing": (lambda path: None, "No such file"),
    "too large": (lambda path: path.write_bytes(bytes(101)), "larger than"),
    "a link": (lambda path: path.symlink_to("/etc/passwd"), "links are not followed"),
    "a pipe": (os.mkfifo, "not a plain file"),
}


@pytest.mark.parametrize("kind", POLICIES)
def test_no_link_is_followed_no_pipe_is_waited_for_and_nothing_large_is_read(tmp_path, kind):
    make, problem = POLICIES[kind]
    make(tmp_path / "a-s0.npz")
    spec = SliceSpec(candidate_id="a", seed=0)
    assert problem in take_policies(spec, [tmp_path / "a-s0.npz"], tmp_path / "kept", 100)
    assert not (tmp_path / "kept").exists()


# Candidates in processes of their own.

WHO = "for each in results: each['failure'] = {'kind': 'exception', 'message': ' '.join(ids)}"


def test_candidates_share_a_process_unless_they_are_isolated(tmp_path):
    ids = ("good", "bad", "bad2")
    together = train(tmp_path, WHO, ids=ids, seeds=(0, 1))
    assert together.failure.message == "good good bad bad bad2 bad2"
    apart = train(tmp_path, WHO, ids=ids, seeds=(0, 1), isolate=True)
    assert apart.failure.message == "bad bad" and apart.results["bad", 1].failure == apart.failure
    assert apart.results["good", 0].failure is apart.results["bad2", 1].failure is None


def test_an_isolated_candidate_cannot_spoil_another(tmp_path, honest):
    deed = "policy.with_name('good-s0.npz').write_bytes(b'spoilt')"
    assert train(tmp_path, deed).results["good", 0].failure, "they share a process: the language alone keeps them apart"
    good = train(tmp_path, deed, isolate=True).results["good", 0]
    assert good.final_fitness == pytest.approx(honest.results["good", 0].final_fitness)
