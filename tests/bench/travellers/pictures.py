"""Pictures of the experiment."""
def drawn(table, folder): return []
