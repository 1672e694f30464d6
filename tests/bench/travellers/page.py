"""Tables of the experiment."""
def written(table, path, people, zones): pass
