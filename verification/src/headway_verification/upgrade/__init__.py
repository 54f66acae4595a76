"""`make deploy-sandbox`: a release from the first deployment to the deletion, with an operator's commands under load.

It uses the real Makefile, sam and template, and the sandbox's CloudFormation. The commands run in a separate folder, so
the builds and settings of the checkout are not touched.
"""
