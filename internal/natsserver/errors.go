package natsserver

import "github.com/pigeon-sched/pigeon/internal/api"

func startError(address string, err error) error {
	return &api.Error{
		Problem: api.Internal, Subject: "NATS server on " + address, What: err.Error(),
		Tried: "starting it", Next: "choose another address (port 0 takes a free one), or correct what is named here",
	}
}
