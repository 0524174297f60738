"""How an episode or a comparison is shown: tables, records, text, pictures."""
