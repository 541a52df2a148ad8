package main

import (
	"fmt"
	"slices"
	"strings"
)

// service is a Thrift service with the types of package wire that serve and call it.
type service struct {
	name            string // package.Service
	handler, target string // the type of the handler, and its port
	client          string // the type of the client
	receiver        string // of its methods
	calls           []call
}

// call is a method of a service whose handler and client only translate.
type call struct {
	method string // of the Thrift service
	port   string // Interface.Method of package wire
	tried  string // what the client says that it tried
	// checked: the handler is written by hand, since it checks the arguments.
	checked bool
	// of and is are the port of the handler, which may be nil, and what it is then said not to be.
	of, is string
}

// signature is a method without its context and its error.
type signature struct {
	params []field
	result string // "" for none
}

// method is the handler and the client of a call, as the template shows them.
type method struct {
	Service, Client, Handler, Target    string
	Method, Port, Tried, Absent         string
	Checked                             bool
	HandlerParams, ClientParams         string
	HandlerResult, ClientResult         string
	ToArguments, FromArguments          string
	ToResult, FromResult, Receiver, New string
}

// methods returns what is to be written for the services.
func (s sources) methods(list []service) (all []method, err error) {
	for _, v := range list {
		for _, c := range v.calls {
			m, err := s.method(v, c)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", v.name, c.method, err)
			}
			all = append(all, m)
		}
	}
	return all, nil
}

func (s sources) method(v service, c call) (m method, err error) {
	wire, found := s.signatures[v.name+"."+c.method]
	port, ok := s.signatures["wire."+c.port]
	if !found || !ok {
		return m, fmt.Errorf("it or %s is no method", c.port)
	}
	pkg, name, _ := strings.Cut(v.name, ".")
	_, m.Port, _ = strings.Cut(c.port, ".")
	m.Service, m.Method, m.Tried, m.Checked, m.Absent = v.name, c.method, c.tried, c.checked, c.is
	m.Handler, m.Target, m.Client, m.Receiver, m.New = v.handler, v.target+c.of, v.client, v.receiver, pkg+".New"+name+"Client"
	m.HandlerParams, m.ClientParams = declared(wire.params), declared(port.params)
	m.HandlerResult, m.ClientResult = wire.result, unqualified(port.result)
	to, from, err := s.arguments(port.params, wire.params)
	if err != nil {
		return m, err
	}
	m.ToArguments, m.FromArguments = strings.Join(to, ""), strings.Join(from, "")
	if port.result != "" || wire.result != "" {
		if m.ToResult, m.FromResult, ok = s.carry("answer", port.result, "answer", field{"", wire.result}); !ok {
			return m, fmt.Errorf("a result of type %s cannot be carried by %s", port.result, wire.result)
		}
	}
	return m, nil
}

// declared writes parameters that follow the context.
func declared(params []field) string {
	var b strings.Builder
	for _, p := range params {
		fmt.Fprintf(&b, ", %s %s", p.name, unqualified(p.typ))
	}
	return b.String()
}

// arguments returns the arguments of the Thrift method by the parameters of ours, and the other way round. They
// belong together by position, or, when their numbers differ, by name: then a struct of ours has its fields among
// the parameters.
func (s sources) arguments(plain, wire []field) (to, from []string, err error) {
	if len(plain) == len(wire) {
		for i, p := range plain {
			a, b, ok := s.carry(p.name, p.typ, wire[i].name, wire[i])
			if !ok {
				return nil, nil, fmt.Errorf("a parameter %s of type %s cannot be carried by %s of type %s", p.name, p.typ, wire[i].name, wire[i].typ)
			}
			to, from = append(to, ", "+a), append(from, ", "+b)
		}
		return to, from, nil
	}
	c, left := conversion{}, slices.Clone(wire)
	for _, p := range plain {
		value, err := s.assign(&c, &left, p, p.name, "")
		if err != nil {
			return nil, nil, err
		}
		from = append(from, ", "+value)
	}
	for _, p := range wire {
		i := slices.IndexFunc(c.To, func(a assignment) bool { return a.Field == p.name })
		if i < 0 {
			return nil, nil, fmt.Errorf("the parameter %s has no counterpart", p.name)
		}
		to = append(to, ", "+c.To[i].Value)
	}
	return to, from, nil
}
