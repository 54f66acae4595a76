"""`make accept`: a real deployment shows whether AWS behaves as Headway assumes where AWS documents nothing.

`gathering` asks AWS, each question once; `checks` judges the answers, without I/O; `catalogue` names all checks.
docs/reference/assumptions.md says what each assumption is for.
"""
