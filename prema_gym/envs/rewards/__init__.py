"""What is paid: the table of terms, running totals, and the ledger of a batch."""
