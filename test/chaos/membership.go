//go:build linux

package chaos

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server/admin"
)

// members are the cluster members' places.
func (c *cluster) members() (list []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, absent := range c.absent {
		if !absent {
			list = append(list, i)
		}
	}
	return list
}

// present are the listed places with a cluster member.
func (c *cluster) present(list []int) []int {
	members := c.members()
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return !slices.Contains(members, i) })
}

// claimAbsent claims a place without a cluster member. From then on the place counts as a member: the cluster may
// record the host before the host knows.
func (c *cluster) claimAbsent() (i int, free func(), ok bool) {
	c.mu.Lock()
	if i = slices.Index(c.absent, true); i >= 0 {
		c.absent[i], c.claimed[i] = false, true
	}
	c.mu.Unlock()
	if i < 0 {
		return 0, nil, false
	}
	c.places[i].Args = c.joinArgs(i)
	return i, func() { c.free(i) }, true
}

// leave records that the host at a place has left the cluster.
func (c *cluster) leave(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.absent[i] = true
}

// joinArgs are a joining host's arguments.
func (c *cluster) joinArgs(i int, more ...string) []string {
	others := slices.Delete(slices.Clone(c.advertised), i, i+1)
	return append([]string{"--name", c.places[i].Name, "--shards", strconv.Itoa(shards),
		"--raft-advertise", c.advertised[i],
		"--join", strings.Join(others, ",")}, more...)
}

// lookTimeout bounds a status request: a stalled host does not answer.
const lookTimeout = time.Second

// looker disables keep-alives, like package process.
var looker = http.Client{Timeout: lookTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

// statuses asks hosts for their status in parallel. Hosts without an answer are missing from the result.
func (c *cluster) statuses(list []int) map[int]admin.Status {
	var mu sync.Mutex
	found := make(map[int]admin.Status)
	var work sync.WaitGroup
	for _, i := range list {
		if c.host(i) == nil {
			continue
		}
		work.Go(func() {
			answer, err := looker.Get("http://" + c.places[i].Admin + "/status")
			if err != nil {
				return
			}
			defer answer.Body.Close()
			var status admin.Status
			if json.NewDecoder(answer.Body).Decode(&status) != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found[i] = status
		})
	}
	work.Wait()
	return found
}

// led maps each shard to the place of the host that reports leading it.
func (c *cluster) led(list []int) map[uint64]int {
	return leaders(c.statuses(list))
}

func leaders(statuses map[int]admin.Status) map[uint64]int {
	led := make(map[uint64]int)
	for i, status := range statuses {
		for _, s := range status.Shards {
			if s.Leads {
				led[s.ID] = i
			}
		}
	}
	return led
}

// unclaimed are the listed places without a fault.
func (c *cluster) unclaimed(list []int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return !c.idle(i) })
}
