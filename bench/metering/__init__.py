"""How is it counted? DynamoDB units, calls, CPU time, prices, sizes, and the machine.

Imported by every other package of the bench.
"""
