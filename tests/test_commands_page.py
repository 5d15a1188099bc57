"""docs/commands.md tells the commands as they are."""

from docs.commands import PAGE, reference


def test_the_reference_of_commands_is_up_to_date():
    assert PAGE.read_text() == reference(), "run `python -m docs.commands`"
