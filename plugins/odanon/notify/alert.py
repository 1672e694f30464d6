"""What a notifier passes on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Alert:
    """A failed run of a product: one line, the bad days in their own words, and where to look."""

    product: str
    title: str
    days: tuple[tuple[str, str], ...] = ()
    link: str = ""

    @property
    def text(self) -> str:
        """The alert as plain text, the remedy last."""
        lines = [self.title, *(f"  {day}: {sentence}" for day, sentence in self.days)]
        if self.link:
            lines.append(f"See {self.link}")
        if self.days:
            lines.append(f"Retry: odanon run {self.product} --from {self.days[0][0]} --to {self.days[-1][0]} --resume")
        return "\n".join(lines)
