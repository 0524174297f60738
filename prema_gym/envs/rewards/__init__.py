"""What is paid: the table of terms, their compiled totals, and the ledger of a batch."""
