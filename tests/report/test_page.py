"""The content of a run's report."""

import json
import os
import re

import pytest

from rewardgen.analyzer.flags import DETECTORS
from rewardgen.core.files import write_atomic
from rewardgen.core.statistics import Interval
from rewardgen.llm.archive import ArchivedCall, read_call
from rewardgen.report import closing, page
from rewardgen.report.answer import answer_of
from rewardgen.report.closing import close_run
from rewardgen.report.ledger import spent
from rewardgen.report.page import report_html
from rewardgen.report.reward_report import GAMING, reward_report
from rewardgen.report.transcripts import call_data, read_calls
from rewardgen.search.finals import summarise
from rewardgen.store.comparisons import mirrored
from rewardgen.store.history import History, Race
from rewardgen.store.judgement_records import Judgement
from rewardgen.store.messages import LLMRequest, Message, Picture
from rewardgen.store.run_folder import RunFolder
from rewardgen.view.comparisons import comparison_facts
from tests.cli.conftest import write_run
from tests.report.runs import HOSTILE, Made, compared
from tests.search.parts import Crew, a_search
from tests.ui.story import RUN_ID, events


@pytest.fixture
def folder(tmp_path):
    made = RunFolder(tmp_path / RUN_ID)
    made.path.mkdir()
    return made


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])


def changed(**update):
    history = History(events())
    assert history.summary is not None
    history.summary = history.summary.model_copy(update=update)
    return history


def test_a_report_can_be_written_at_any_moment_of_a_run(folder):
    told = events()
    for count in range(1, len(told) + 1, 7):
        html = report_html(folder, History(told[:count]))
        assert data_of(html)["run"] == RUN_ID
        links = re.findall(r'href="#([^"]+)"', re.search(r"<nav.*?</nav>", html, re.DOTALL)[0])
        assert links and all(f'id="{link}"' in html for link in links)


def test_pictures_of_a_request_do_not_fill_the_report():
    shown = Message(role="user", content="compare", pictures=(Picture(caption="left", png="AAAA"),))
    request = LLMRequest(label="c0/judge/compare", messages=(shown,))
    assert call_data(ArchivedCall(request=request))["messages"] == [{"role": "user", "content": "compare"}]


def test_models_that_designed_in_turn_are_told_with_what_their_candidates_reached(folder):
    made = Made(folder, model="openai/odd,agent:even")
    made.generation(0, 4)
    assert not any("Designed by" in name for name, _ in spent(made.history, read_calls(folder))), "one model"
    for path in folder.calls.glob("*.json"):
        call = read_call(path)
        model = "openai/odd" if call.request.label[5] in "13" else "agent:even"
        write_atomic(path, call.model_copy(update={"model": model}).model_dump_json())
    costs = dict(spent(made.history, read_calls(folder)))
    odd, even = (made.history.record(id).fitness for id in ("g00-k1", "g00-k2"))
    assert costs["Designed by openai/odd"] == f"2 candidates, 1 with a fitness: mean {odd:.3g}, best {odd:.3g} (g00-k1)"
    best = max(even, made.history.record("g00-k0").fitness)
    assert f"best {best:.3g}" in costs["Designed by agent:even"]


@pytest.mark.parametrize(
    ("history", "headline", "tone"),
    [
        (changed(against_human="above"), "Succeeds in 83 % of episodes, better than the human reward.", "good"),
        (changed(against_human="on par"), "Succeeds in 83 % of episodes, within noise of the human reward.", "good"),
        (changed(), "Succeeds in 83 % of episodes, worse than the human reward.", "mixed"),
        (changed(against_human=None), "Succeeds in 83 % of episodes, better than the sparse reward.", "good"),
        (changed(against_human=None, against_sparse=None), "Succeeds in 83 % of episodes.", "good"),
        (changed(chosen=None, conclusion="Nothing."), "Nothing.", "bad"),
        (History(events()[:-1]), "In the finals: g01-k5 leads the search", "open"),
        (History(events()[:3]), "Still searching: no candidate has been trained yet.", "open"),
    ],
)
def test_the_headline_says_whether_it_worked_and_beside_what(history, headline, tone):
    answer = answer_of(history, "running")
    assert answer.headline.startswith(headline)
    assert answer.tone == tone


def test_a_run_without_a_process_is_called_interrupted():
    assert answer_of(History(events()[:20]), "interrupted").headline.startswith("Interrupted: ")
    assert answer_of(History(events()[:-1]), "interrupted").headline.startswith("Interrupted in the finals: ")


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (
            "A circle is fitted first. Success: within 0.1 m of it\nfor 5 s. So it is.",
            "Success: within 0.1 m of it for 5 s.",
        ),
        ("The cube is lifted.\n\nSuccess is rare.", "Success is rare."),
        ("The cube is lifted.\n\nAnd held.", "The cube is lifted."),
    ],
)
def test_success_is_explained_by_its_criterion(told, shown):
    history = changed()
    history.card = history.card.model_copy(update={"success": told})
    (success,) = [fact for fact in answer_of(history, "finished").facts if fact.name == "Success"]
    assert success.about == shown


def test_a_run_that_failed_tells_what_to_do_and_offers_no_film_that_cannot_be_made(folder):
    history = History(events()[:3])
    history.status, history.error, history.hint = "failed", "no server at http://x/v1", "start it"
    folder.events.write_text("")
    html = report_html(folder, history)
    assert "The run failed: no server at http://x/v1." in html and "Start it." in html
    assert f"<code>rewardgen resume {RUN_ID}</code> continues it." in html
    assert "No film: there is no file of a policy." in html and "rewardgen film" not in html.split("<nav")[1][:9000]


def test_steps_that_chose_the_settings_are_told_of_those_spent(folder):
    history = Made(folder).history
    assert dict(spent(history, {}))["Control steps"] == "0"
    history.race = Race(chosen="dense", fitness={"dense": 0.5}, env_steps=17_408)
    assert dict(spent(history, {}))["Control steps"] == "17,408, 17,408 of them to choose settings"


def test_agents_of_one_game_share_a_start():
    history = with_success(0.5, 0.5625, 0.5)
    chosen, alone = history.summary.chosen, summarise("", history)
    assert "16 starts each" in answer_of(history, "finished").sure
    history.card = history.card.model_copy(update={"agents": ("a_0", "a_1", "b_0")})
    assert "5 starts each" in answer_of(history, "finished").sure
    of_one, of_three = (each.row(chosen).success_interval for each in (alone, summarise("", history)))
    assert of_three.low < of_one.low < of_one.high < of_three.high


def with_success(*rates):
    """A finished run whose chosen reward succeeds so often on its fresh seeds; None where the task has no success."""
    history = changed(against_human="above")
    summary, chosen = history.summary, history.summary.chosen
    mean = None if None in rates else sum(rates) / len(rates)
    keys = [key for key in history.trained if key[:2] == ("final", chosen)]
    for key, rate in zip(keys, rates, strict=True):
        history.trained[key] = history.trained[key].model_copy(update={"final_success_rate": rate})
    rows = [
        row.model_copy(update={"success_rate": mean, "success_interval": None}) if row.candidate_id == chosen else row
        for row in summary.rows
    ]
    history.summary = summary.model_copy(update={"rows": tuple(rows)})
    return history


@pytest.mark.parametrize(
    ("rates", "headline", "tone"),
    [
        ((1.0, 0.44, 1.0), "Succeeds in 81 % of episodes (by seed: 100, 100, 44 %), better than", "mixed"),
        ((1.0, 0.6, 1.0), "Succeeds in 87 % of episodes (by seed: 100, 100, 60 %), better than", "good"),
        ((0.7, 0.7, 0.7), "Succeeds in 70 % of episodes, better than", "mixed"),
        ((None, None, None), "Reaches a fitness of 1655, better than", "good"),
    ],
)
def test_the_headline_has_the_success_of_each_seed_and_none_where_none_is_defined(rates, headline, tone):
    answer = answer_of(with_success(*rates), "finished")
    assert answer.headline.startswith(headline) and answer.tone == tone
    assert [fact.name for fact in answer.facts][:2] == (
        ["Fitness", "Against human"] if None in rates else ["Success", "Fitness"]
    )
    assert None not in rates or "0 %" not in answer.headline


def test_what_the_chosen_reward_reaches_without_its_observe_is_a_fact():
    history = changed(against_human="above")
    chosen = history.summary.row(history.summary.chosen)
    bare = chosen.model_copy(
        update={"candidate_id": f"{chosen.candidate_id}-blind", "fitness": Interval(value=12.0, low=9.0, high=15.0)}
    )
    history.summary = history.summary.model_copy(update={"rows": (*history.summary.rows, bare)})
    (fact,) = [fact for fact in answer_of(history, "finished").facts if fact.name == "Blind"]
    assert (fact.value, fact.bounds) == ("12", "9, 15") and "without its observe" in fact.about


@pytest.mark.parametrize(("answer", "tone"), [("yes", "good"), ("partly", "mixed"), ("no", "bad")])
def test_what_a_model_says_of_the_episodes_counts_beside_what_was_measured(answer, tone):
    history = changed(against_human="above")
    history.judgement = Judgement(answer=answer, why="it leans")
    found = answer_of(history, "finished")
    assert found.tone == tone
    read = "The model that read episodes of the policy with the median fitness, which succeeds in 83 %: it leans"
    assert found.facts[-1].about == read


def test_a_run_under_way_tells_what_leads_and_that_search_seeds_flatter_it():
    answer = answer_of(History(events()[:-8]), "running")
    assert [each.name for each in answer.facts] == ["Success", "Fitness", "Human", "Sparse"]
    assert "flatter" in answer.sure


def test_prompts_that_do_not_fit_are_left_out_and_the_rest_stays(folder, monkeypatch):
    made = Made(folder, model="openai/gpt-5.1")
    made.generation(0, 3)
    whole = report_html(folder, made.history)
    names = data_of(whole)["blocks"].keys()
    assert {"calls/g00-k0", "detail/g00-k0", "detail/human"} <= names
    monkeypatch.setattr(page, "MOST_BYTES", len(whole.encode()) - 1000)
    left = data_of(report_html(folder, made.history))["blocks"].keys()
    assert names - left and all(each.startswith("calls/") for each in names - left)


def test_a_judged_run_shows_strengths_consistency_and_answers_against_the_fitness(tmp_path):
    search, history = a_search(tmp_path / "run", Crew(), judge="simulated:oracle", answers=20)
    search()
    facts = comparison_facts(history)
    assert facts is not None and facts.disagreements == ()
    ids, strengths, times = zip(*facts.ranks, strict=True)
    assert ids == history.ranking.ids and all("±" in strength for strength in strengths)
    assert sum(times) == 2 * len(history.comparisons)
    repeated = sum(each.repeats is not None for each in history.comparisons)
    assert f"{repeated} questions asked again with exchanged sides: {repeated} answered alike" in facts.summary
    wrong = next(each for each in history.comparisons if each.answer in ("left", "right"))
    turned = wrong.model_copy(update={"answer": mirrored(wrong.answer), "why": HOSTILE})
    history.comparisons[wrong.number] = turned
    (shown,) = comparison_facts(history).disagreements
    preferred, other = turned.ids if turned.answer == "left" else turned.ids[::-1]
    assert shown.better.startswith(preferred) and shown.worse.startswith(other) and shown.why == HOSTILE
    html = report_html(RunFolder(tmp_path / "run"), history)
    assert "Answers against the task's fitness" in html and "<script>window" not in html
    history.card = history.card.model_copy(update={"fitness": ""})
    assert comparison_facts(history).disagreements == ()


def test_files_that_are_damaged_or_lead_elsewhere_are_passed_over(folder, tmp_path):
    (tmp_path / "secret.json").write_text('{"command": "a secret"}')
    os.symlink(tmp_path / "secret.json", folder.provenance)
    folder.calls.mkdir()
    (folder.calls / "g00-k1-designer-draft.0.json").write_text("[[[")
    os.symlink(tmp_path / "secret.json", folder.calls / "goal-check.0.json")
    assert "a secret" not in report_html(folder, History(events()))
    folder.provenance.unlink()
    folder.provenance.write_text("[" * 100_000)
    report_html(folder, History(events()))


def test_the_reward_report_tells_what_detectors_saw_and_what_nobody_tested():
    sections = {title: " ".join(lines) for title, lines in reward_report(History(events())).items()}
    assert set(GAMING) <= {each.name for each in DETECTORS}
    assert "(`--env-steps`)" in sections["What was not tested"]
    assert "no language model judged it" in sections["What was not tested"]


def test_films_and_a_report_that_fail_are_noted_and_end_nothing(folder, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("no display")

    monkeypatch.setattr(closing, "make_films", fails)
    notes = []
    assert close_run(folder, History(events()), notes.append, agreed=True) == folder.path / "report.html"
    assert notes == ["there are no films: RuntimeError: no display"]
    (folder.path / "report.html").unlink()
    (folder.path / "report.html").mkdir()
    assert close_run(folder, History(events()), notes.append) is None
    assert notes[-1].startswith("there is no report: ")


def test_the_command_writes_the_report_and_says_where(tmp_path, capfd):
    from rewardgen.cli.app import main

    write_run(tmp_path)
    assert main(["report", RUN_ID, "--runs-dir", str(tmp_path)]) == 0
    assert capfd.readouterr().out.strip() == str(tmp_path / RUN_ID / "report.html")


def test_a_comparison_tells_the_difference_with_its_interval_and_what_no_page_can_know():
    html = compared("g01-k5", "g00-k1", "human", text="Their distance was not measured: no sandbox.")
    assert re.search(r"g00-k1 is worse than g01-k5: -[^<]* on the seeds of the search", html)
    assert re.search(r"human is (better than|worse than|within noise of) g01-k5: [^<]* on fresh seeds", html)
    assert html.count("Their distance was not measured: no sandbox.") == 2
