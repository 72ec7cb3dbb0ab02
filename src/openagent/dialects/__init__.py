"""Tools under the names that a model's family knows: what is offered, called and answered, translated at the wire"""
