"""The pages and parts of pages that are made from code and runs."""
