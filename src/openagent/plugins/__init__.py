"""The small interfaces others implement: Provider, Tool, Collector, Jail, Store, Ledger, Index."""
