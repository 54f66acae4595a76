"""All checks of `make accept`, in the order of the report. docs/reference/assumptions.md has the same, by name."""

from __future__ import annotations

from headway_verification.acceptance.checks import callers, deployment, signals, training_jobs
from headway_verification.acceptance.verdict import Check

SAGEMAKER, IAM, GATEWAY, EVENTS = "SageMaker", "IAM", "API Gateway", "EventBridge"
CLOUDWATCH, LAMBDA, FORMATION, KMS = "CloudWatch", "Lambda", "CloudFormation", "KMS"

CHECKS = (
    Check(
        name="stranger-is-refused",
        service=GATEWAY,
        assumes="The private API refuses a role of the account that no policy lets in.",
        asks="GET /version, signed by a temporary role without a policy",
        evidence=lambda gathered: gathered.callers,
        judges=callers.stranger_is_refused,
        if_false="Anybody of the account who reaches the endpoint may call the queue. Set CallerArns to the roles "
        "that may, and deny execute-api:Invoke to others in a boundary or an organization's policy.",
    ),
    Check(
        name="user-is-let-in",
        service=GATEWAY,
        assumes="The managed policy UserPolicy is enough to call the private API.",
        asks="GET /version, signed by the same role with UserPolicy attached",
        evidence=lambda gathered: gathered.callers,
        judges=callers.user_is_let_in,
        if_false="Nobody but administrators gets in. Look into the access log of the API for the reason; the "
        "resource policy of the API (CallerArns, VpcEndpointIds) and that of the VPC endpoint have to allow"
        " the role, too.",
    ),
    Check(
        name="marked-creation",
        service=IAM,
        assumes="aws:RequestTag conditions apply to CreateTrainingJob.",
        asks="SimulatePrincipalPolicy of the scheduler's role for CreateTrainingJob, with and without the mark",
        evidence=lambda gathered: gathered.permissions,
        judges=callers.marked_creation,
        if_false="Denied with the mark: the queue starts nothing; remove the condition of StartMarkedJobs. Allowed "
        "without it: the role may create any training job, which the code does not do.",
    ),
    Check(
        name="tag-at-creation",
        service=IAM,
        assumes="sagemaker:TaggingAction tells tags of a creation from others.",
        asks="SimulatePrincipalPolicy of the scheduler's role for AddTags, with and without the key",
        evidence=lambda gathered: gathered.permissions,
        judges=callers.tag_at_creation,
        if_false="Denied at a creation: the queue starts nothing; remove the key from MarkWhatIsStarted. Allowed "
        "later: the role may mark, and so stop, other jobs.",
    ),
    Check(
        name="marked-control",
        service=IAM,
        assumes="aws:ResourceTag conditions apply to StopTrainingJob and UpdateTrainingJob.",
        asks="SimulatePrincipalPolicy of the scheduler's role for both, on jobs with the mark and without",
        evidence=lambda gathered: gathered.permissions,
        judges=callers.marked_control,
        if_false="Denied with the mark: jobs are neither preempted nor stopped; remove the conditions of "
        "StopMarkedJobs and ReleaseMarkedWarmPools. Allowed without it: the role may stop others' jobs, "
        "which the code does not do.",
    ),
    Check(
        name="launched-with-mark",
        service=SAGEMAKER,
        assumes="SageMaker shows the request's tags to IAM, and the training job has them at once.",
        asks="a job through the queue, then ListTags of its training job",
        evidence=lambda gathered: gathered.runs,
        judges=callers.launched_with_mark,
        if_false="The queue starts nothing, or takes its own jobs for rogue ones. Remove the conditions on "
        "aws:RequestTag from the scheduler's role, or look into the job's reason.",
    ),
    Check(
        name="name-in-use",
        service=SAGEMAKER,
        assumes="A name that exists is refused with ResourceInUse, also after the job's end.",
        asks="CreateTrainingJob with the name of the training job that has ended",
        evidence=lambda gathered: gathered.name_in_use,
        judges=training_jobs.name_in_use,
        if_false="A launch that is repeated after a crash ends its job as refused, and its training job runs on "
        "until the patrol finds it. Add the code to headway_service.aws.sagemaker_training_jobs.",
    ),
    Check(
        name="stop-of-ended",
        service=SAGEMAKER,
        assumes="A stop of an ended job is refused with a text that names its status.",
        asks="StopTrainingJob of a training job that has ended",
        evidence=lambda gathered: gathered.stop_of_ended,
        judges=training_jobs.stop_of_ended,
        if_false="Stops that come late are repeated until an event or the reconciler reports the end. Add the text "
        "to headway_service.aws.sagemaker_training_jobs.",
    ),
    Check(
        name="stop-of-stopping",
        service=SAGEMAKER,
        assumes="A second stop of a Stopping job does nothing, or is refused with the same text.",
        asks="StopTrainingJob of a training job that the queue stops",
        evidence=lambda gathered: gathered.runs,
        judges=training_jobs.stop_of_stopping,
        if_false="Repeated stops are logged as unclear, and repeated. Add the text to "
        "headway_service.aws.sagemaker_training_jobs.",
    ),
    Check(
        name="stop-of-unknown",
        service=SAGEMAKER,
        assumes="A training job that does not exist is refused with a text that says so.",
        asks="StopTrainingJob of a name that nobody has used",
        evidence=lambda gathered: gathered.stop_of_unknown,
        judges=training_jobs.stop_of_unknown,
        if_false="A launch that never took effect holds its instances in the ledger. Add the text to "
        "headway_service.aws.sagemaker_training_jobs.",
    ),
    Check(
        name="denied-create",
        service=SAGEMAKER,
        assumes="A denial of CreateTrainingJob has a code of AWS's denials.",
        asks="CreateTrainingJob by a temporary role without a policy",
        evidence=lambda gathered: gathered.denied_create,
        judges=training_jobs.denied_create,
        if_false="A missing permission ends jobs in place of postponing them. Add the code to "
        "headway_service.aws.error_codes.",
    ),
    Check(
        name="denied-role",
        service=SAGEMAKER,
        assumes="The text of a denial names iam:PassRole if the job's role may not be passed.",
        asks="CreateTrainingJob by a temporary role that may do that, but pass no role",
        evidence=lambda gathered: gathered.denied_role,
        judges=training_jobs.denied_role,
        if_false="A job with a role that the queue may not pass is tried again and again, and waits in its place. "
        "Add the text to headway_service.aws.sagemaker_training_jobs.",
    ),
    Check(
        name="denied-stop",
        service=SAGEMAKER,
        assumes="A denial of StopTrainingJob has a code of AWS's denials.",
        asks="StopTrainingJob of an ended training job by a temporary role without a policy",
        evidence=lambda gathered: gathered.denied_stop,
        judges=training_jobs.denied_stop,
        if_false="A stop that is not permitted is repeated without an alarm on its reason. Add the code to "
        "headway_service.aws.error_codes.",
    ),
    Check(
        name="over-quota",
        service=SAGEMAKER,
        assumes="A quota refuses with ResourceLimitExceeded and a sentence with its name and numbers.",
        asks="CreateTrainingJob for a type whose quota is 0, with an image that does not exist",
        evidence=lambda gathered: gathered.over_quota,
        judges=training_jobs.over_quota,
        if_false="A job that exceeds a quota alone cannot be told from a quota that others use up, and delays "
        "others. Add the sentence to headway_service.sagemaker_api.quota_text.",
    ),
    Check(
        name="quota-after-stop",
        service=SAGEMAKER,
        assumes="The quota lags behind an end by no more than the queue's back-off bridges.",
        asks="the histories of three jobs on a pool that is as large as the quota",
        evidence=lambda gathered: gathered.quota_use,
        judges=training_jobs.quota_after_stop,
        if_false="Starts after an end are late. Make the pool one smaller than the quota.",
    ),
    Check(
        name="stop-before-training",
        service=SAGEMAKER,
        assumes="A job that is stopped before it trains ends as Stopped.",
        asks="a stop through the queue while the training job is Starting or Pending, then DescribeTrainingJob",
        evidence=lambda gathered: gathered.runs,
        judges=training_jobs.stop_before_training,
        if_false="Such an end counts as a failure or as somebody else's stop. See headway_service.tracking.ends.",
    ),
    Check(
        name="failure-reason",
        service=SAGEMAKER,
        assumes="The FailureReason of a script's own error begins with AlgorithmError.",
        asks="a job through the queue that exits with code 3",
        evidence=lambda gathered: gathered.runs,
        judges=training_jobs.failure_reason,
        if_false="Failures are of kind unknown; rules on retries by kind do not apply. Add the text to "
        "headway.jobpolicy.failure_kinds.",
    ),
    Check(
        name="warm-pool-release",
        service=SAGEMAKER,
        assumes="UpdateTrainingJob with a keep-alive period of 0 releases an available warm pool.",
        asks="a training job with a keep-alive period, beside the queue, then UpdateTrainingJob",
        evidence=lambda gathered: gathered.warm_pool,
        judges=training_jobs.warm_pool_released,
        if_false="Jobs of other requests wait until the period of a pool is over. Keep no warm pools, or short ones "
        "(warmPools.maxSeconds).",
    ),
    Check(
        name="event-for-each-status",
        service=EVENTS,
        assumes="SageMaker sends an event for each secondary status.",
        asks="the events of a temporary rule, and SecondaryStatusTransitions of DescribeTrainingJob",
        evidence=lambda gathered: gathered.events,
        judges=signals.event_for_each_status,
        if_false="The queue hears of the change when the reconciler asks, after ReconcileAfterSeconds. Lower that.",
    ),
    Check(
        name="event-fields",
        service=EVENTS,
        assumes="Events have the fields of DescribeTrainingJob, with times in milliseconds.",
        asks="the same events, read by the queue's parser",
        evidence=lambda gathered: gathered.events,
        judges=signals.event_fields,
        if_false="Events become dead letters, and the reconciler does their work. Mend "
        "headway_service.sagemaker_api.status.",
    ),
    Check(
        name="host-dimension",
        service=CLOUDWATCH,
        assumes="The metrics of a host have the dimension Host with the training job's name and algo-1.",
        asks="ListMetrics and GetMetricData of /aws/sagemaker/TrainingJobs",
        evidence=lambda gathered: gathered.figures,
        judges=signals.host_dimension,
        if_false="Alarms on idle jobs have no data and never fire; nothing is stopped. Set `dimension` of the watch.",
    ),
    Check(
        name="full-scale",
        service=CLOUDWATCH,
        assumes="Figures of cores run to 100 for each, and that of the memory to 100.",
        asks="the same metrics of a job that keeps all cores busy",
        evidence=lambda gathered: gathered.figures,
        judges=signals.full_scale,
        if_false="Thresholds are wrong by the number of cores or GPUs. Set `fullScale` of each watch.",
    ),
    Check(
        name="metric-delay",
        service=CLOUDWATCH,
        assumes="A figure is there within the period of a watch.",
        asks="the same metrics, every few seconds while the job trains",
        evidence=lambda gathered: gathered.figures,
        judges=signals.metric_delay,
        if_false="Verdicts of watches rest on fewer figures, which count as busy. Set longer periods.",
        sandbox="its metrics come at once",
    ),
    Check(
        name="alarm-reaches-function",
        service=CLOUDWATCH,
        assumes="An alarm may publish to the queue's topic, which invokes the watch function.",
        asks="SetAlarmState of a temporary alarm, then its history and the function's log",
        evidence=lambda gathered: gathered.alarm,
        judges=signals.alarm_reaches_function,
        if_false="Idle jobs are found once a minute only, not when their alarm fires. See WatchTopicPolicy.",
    ),
    Check(
        name="printed-metrics",
        service=CLOUDWATCH,
        assumes="Lines in the embedded metric format become metrics under the JSON log format.",
        asks="GetMetricData of the namespace Headway",
        evidence=lambda gathered: gathered.metrics,
        judges=deployment.printed_metrics,
        if_false="Alarms on the queue's own metrics have no data, and GaugesMissing rings. Set LogLevel to WARN, "
        "which selects the text format.",
    ),
    Check(
        name="cold-starts",
        service=LAMBDA,
        assumes="Each function starts within Lambda's init phase, also in a VPC.",
        asks="the REPORT lines in the functions' logs",
        evidence=lambda gathered: gathered.cold_starts,
        judges=deployment.cold_starts,
        if_false="First calls time out and are repeated. Raise MemorySize of the function.",
        sandbox="its Lambda writes no REPORT lines",
    ),
    Check(
        name="functions-are-invoked",
        service=LAMBDA,
        assumes="Each function's trigger invokes it, and its code and layers load.",
        asks="GetMetricData of AWS/Lambda for each function",
        evidence=lambda gathered: gathered.invocations,
        judges=deployment.invoked,
        if_false="Its part of the queue stands still. Look into the log of the function.",
        sandbox="it has no metrics of Lambda",
    ),
    Check(
        name="deletion-policy-accepted",
        service=FORMATION,
        assumes="CloudFormation takes Fn::If in DeletionPolicy without AWS::LanguageExtensions.",
        asks="GetTemplate of the queue's stack, processed",
        evidence=lambda gathered: gathered.deployment,
        judges=deployment.accepted_policy,
        if_false="The stack cannot be deployed. Write Retain, and delete the table of a queue that goes by hand.",
    ),
    Check(
        name="deletion-policy-resolved",
        service=FORMATION,
        assumes="A deletion follows what Fn::If in DeletionPolicy says.",
        asks="a temporary stack of two topics with such policies, created and deleted",
        evidence=lambda gathered: gathered.deleted_stack,
        judges=deployment.resolved_policy,
        if_false="The table may go with its stack although KeepTable is true: leave TableDeletionProtection on, "
        "which DynamoDB itself observes.",
    ),
    Check(
        name="own-key",
        service=KMS,
        assumes="With KmsKeyArn the table and the queues use that key.",
        asks="DescribeTable and GetQueueAttributes",
        evidence=lambda gathered: gathered.deployment,
        judges=deployment.own_key,
        if_false="Data is encrypted with a key of AWS's. See deploy/key.yaml and the key's policy.",
    ),
)
"""Each name occurs once; a test compares them with the table of assumptions."""
