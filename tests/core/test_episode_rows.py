"""Which rows a table of episodes has."""

from rewardgen.store.measurements import episode_rows


def test_short_vectors_are_told_part_by_part_and_long_ones_by_their_size():
    rows = episode_rows(
        {"long": [f"p{number}" for number in range(40)], "height": (), "pair": ("x", "y"), "one": ("a",)}
    )
    assert [row.title for row in rows] == ["|long|", "height", "pair x", "pair y", "one a"]
    assert [row.part for row in rows] == [None, None, 0, 1, 0]


def test_where_there_is_no_room_for_all_parts_the_longest_vectors_are_told_by_their_size():
    parts = {"long": ("a", "b", "c", "d"), "short": ("a", "b"), "height": ()}
    titles = {most: [row.title for row in episode_rows(parts, most)] for most in (3, 4, 6, 7)}
    assert titles[3] == ["|long|", "|short|", "height"]
    assert titles[4] == titles[6] == ["|long|", "short a", "short b", "height"]
    assert len(titles[7]) == 7


def test_rates_give_way_to_a_longer_vector_of_states():
    parts = {"clearance": ("a", "b", "c"), "rates": ("x", "y"), "height": ()}
    titles = [row.title for row in episode_rows(parts, 5, last={"rates"})]
    assert titles == ["clearance a", "clearance b", "clearance c", "|rates|", "height"]
