"""What runs in the process that opens foreign files, away from the key and within little memory (PRIVACY rule 12)."""
