"""What our validators say: pydantic's can raise no more than a text, which has two parts."""


def fact_and_step(message: str) -> tuple[str, str]:
    """What is wrong; and, from a line of its own, what to do about it, empty if it has none.

    A message without a fact says that something is incomplete.
    """
    fact, is_told, step = message.rpartition("\n")  # a name in the fact may have lines of its own
    return (fact, step[:1].upper() + step[1:]) if is_told else (message, "")
