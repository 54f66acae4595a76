"""The items of the table and their keys.

=====================  ==========================  ============================================================
partition ``pk``       sort key ``sk``             item
=====================  ==========================  ============================================================
``job#<job>``          ``job``                     :class:`JobRecord`: state, reasons, ended attempts
``job#<job>``          ``request``                 the CreateTrainingJob request; a change of state does not
                                                   pay for writing it again
``line#<pool>#<team>`` rank                        :class:`QueueEntry`: one per pool that a waiting job demands;
                                                   ``line#<pool>`` for jobs without a team
``after#<pool>#…``     rank                        :class:`QueueEntry` of a job that enters this queue when others end
``count#line#…``       ``count``                   :class:`QueueCountRecord`: the most jobs that may wait there
``ledger``             ``attempt#<attempt>``       :class:`AttemptRecord`: an attempt that holds instances
``ledger``             ``ended#<job>``             :class:`EndedJobRecord`: its dependants have not been notified
``ledger``             ``calendar#<pool>``         :class:`CalendarRecord`: the later sizes of a pool with a schedule
                                                   or a training plan
``ledger``             ``pause#<pool>``            :class:`PauseRecord`: a paused pool; ``pause#*``
                                                   for all pools
``ledger``             ``plan#<pool>``             :class:`PlanRecord`: the training plan of a pool
``ledger``             ``pool#<pool>``             :class:`PoolRecord`: its size and its free instances
``ledger``             ``reservation#<job>``       :class:`ReservationRecord`: freed for a waiting job
``ledger``             ``rogue#<training job>``    :class:`RogueJobRecord`: one that did not come through the queue
``ledger``             ``team#<team>``             :class:`TeamRecord`: a team that has queues
``config``             ``config``                  the configuration in force
``config``             ``history#<life>#<n>``      ``ConfigRecord`` of ``headway_service.pools.config_history``:
                                                   one that was in force
``digest``             day                         :class:`DigestRecord`: what was used in the week before
``deployment``         ``deployment``              the key of the marks (:mod:`headway_service.store.marks`)
``feed``               ``head``                    :class:`FeedHead`: where the chain of entries begins
``feed``               ``entry#<position>``        :class:`FeedEntry`: events in the order in which they were recorded
``accounted``          ``feed``                    ``ProgressRecord`` of ``headway_service.accounting.records``: how far
                                                   the feed is in the sums of usage
``launch#<attempt>``   ``given up``                :class:`GivenUpRecord`: a launch that is over for the queue
``sweep``              ``sweep``                   :class:`ScanRecord`: how far all training jobs were gone through
=====================  ==========================  ============================================================

The ledger is one partition, so that one strongly consistent query reads all that holds capacity.
Records of what holds instances, and of pools, are in :mod:`headway_service.store.records.capacity`.
Each team has its own queue in each pool, so that the backlog of one team cannot hide the jobs of another.
The index ``listing`` holds the job items, as far as :class:`ListedJob` has them: ``listing`` is waiting, ended, or
holding for arrays whose members are made; ``listingKey`` is the order. Jobs that hold instances are listed by their
attempts in the ledger.
"""
