"""Who is told when something needs a person: plugins of the group `odanon.notifiers` with `notify(alert)`.

An alert says which product, what happened and where to look. It holds sentences and dates, never data.
"""
