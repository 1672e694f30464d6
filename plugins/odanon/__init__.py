"""odanon: publish where people travel without showing who does."""
