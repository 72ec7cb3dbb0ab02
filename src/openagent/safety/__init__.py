"""What agents may do: rule files, trust, grants, leaving the jail, the audit trail."""
