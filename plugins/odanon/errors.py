"""The exceptions a user should ever read: what is wrong, where, and what to do."""

_LONGEST = 4000


def one_line(text: str) -> str:
    """What somebody else's code says, as one line without anything that moves a terminal's cursor."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:_LONGEST].strip()


def pass_on(error: BaseException) -> None:
    """Raise again what nobody should catch: Ctrl-C and other interrupts, such as Dagster's, and the end of a generator.

    All else that a stranger's code raises ends its work and nobody else's, be it an exit or of a kind that is no Exception.
    """
    if isinstance(error, KeyboardInterrupt | GeneratorExit) or "Interrupt" in type(error).__name__:
        raise error


class OdanonError(ValueError):
    """A mistake in data, configuration or request, phrased for the person who can repair it.

    The message never carries an identifier, a coordinate or a count of people (PRIVACY rule 9).
    """


class OutageError(OdanonError):
    """A service that is away for now: the same request may well succeed later, so it is worth another try."""


class TooFewError(OdanonError):
    """Too few people or trips in all to publish anything of a window."""
