"""A candidate that took over its training worker gains nothing by it, and harms no other."""

import pytest

from tests.sandbox.confined import landlock_abi
from tests.training.hostile import LIMITS, train

ABI, WHY_NOT = landlock_abi()
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
    "a fitness that is no number": "told['curve'][0]['fitness'] = float('nan')",
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


@pytest.mark.parametrize("name", ["TaskError", "RunFolderError", "CredentialsError"])
def test_no_error_that_a_training_answers_with_ends_the_run(tmp_path, name):
    heard = train(tmp_path, f"raise errors.{name}('give up\\x1b[2J' + 100000 * '!', 'ask someone else')")
    assert heard.failure and heard.failure.kind == "crash" and "give up" in heard.failure.message
    assert heard.failure.message.isprintable() and len(heard.failure.message) < 4000
    assert heard.results["good", 0].failure is None


# Files that are no policies.

SPOILT = {
    "a pickle": "policy.write_bytes(pickle.dumps(told))",
    "missing": "policy.unlink()",
    "too large": "policy.open('wb').truncate(100 << 20)",
}


def check_refused(heard, honest, said):
    assert heard.failure and heard.failure.kind == "crash" and "could not be measured" in heard.failure.message
    assert said in heard.failure.message
    assert heard.results["bad", 0].policy is None and heard.results["bad", 0].final_fitness is None
    good = heard.results["good", 0].final_fitness
    assert good == pytest.approx(honest.results["good", 0].final_fitness)


@pytest.mark.parametrize("kind", SPOILT)
def test_a_file_that_is_no_policy_is_a_failure(tmp_path, honest, kind):
    check_refused(train(tmp_path, SPOILT[kind]), honest, "")
    assert not (tmp_path / "policies" / "bad-s0.npz").exists()


UNCONFINED = LIMITS.model_copy(update={"sandbox": "off"})


@pytest.mark.parametrize("make", ["symlink_to('/etc/passwd')", "mkfifo"])
def test_no_link_is_followed_and_no_pipe_is_waited_for(tmp_path, honest, make):
    deed = "policy.unlink()\n" + ("os.mkfifo(policy)" if make == "mkfifo" else f"policy.{make}")
    heard = train(tmp_path, deed, limits=UNCONFINED)
    check_refused(heard, honest, "it is not a plain file" if make == "mkfifo" else "it cannot be read")


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
