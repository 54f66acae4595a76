"""`make deploy-sandbox`: a release from beginning to end, with what an operator types and people at work meanwhile.

The real Makefile, the real sam and the real template; CloudFormation is the sandbox's. It is typed in a folder of its
own, so neither builds nor settings of the checkout are touched.
"""
