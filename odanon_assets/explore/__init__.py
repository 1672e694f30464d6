"""`odanon explore`: what a store has published, in a browser, for people who never write SQL; read-only."""
