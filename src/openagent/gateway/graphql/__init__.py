"""The reading ops as a GraphQL API at /graphql."""
