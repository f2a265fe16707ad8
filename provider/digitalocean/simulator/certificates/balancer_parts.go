package certificates

import (
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// sign tells whether a request adds to a list or takes from it.
type sign bool

const (
	plus  sign = true
	minus sign = false
)

// changed is the list with more, none of them twice, or without them.
func changed[T comparable](s sign, list, more []T) []T {
	left := slices.DeleteFunc(slices.Clone(list), func(one T) bool { return slices.Contains(more, one) })
	if s == plus {
		left = append(left, more...)
	}
	return orEmpty(left)
}

// changeBackends serves the Droplets of a load balancer.
func changeBackends(s sign) func(*core.Call) (core.Answer, error) {
	return func(c *core.Call) (core.Answer, error) {
		return changePart(c, func(o *options, sent options) {
			o.DropletIDs = changed(s, o.DropletIDs, sent.DropletIDs)
		})
	}
}

// changeRules serves the forwarding rules of a load balancer, which keeps one.
func changeRules(s sign) func(*core.Call) (core.Answer, error) {
	return func(c *core.Call) (core.Answer, error) {
		return changePart(c, func(o *options, sent options) { o.Rules = changed(s, o.Rules, sent.Rules) })
	}
}

func changePart(c *core.Call, change func(o *options, sent options)) (core.Answer, error) {
	b, err := findBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	var sent options
	if err := c.Decode(&sent); err != nil {
		return core.Answer{}, err
	}
	change(&b.Value.options, sent)
	if err := (balancerInput{Name: b.Name, Region: b.Value.Region, options: b.Value.options}).check(c); err != nil {
		return core.Answer{}, err
	}
	balancers.Save(c, b)
	return core.NoContent()
}
