module github.com/pigeon-sched/pigeon/deploy/helm-check

go 1.26.0
