package adminclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server/admin"
)

// maxPage is the maximum page size in bytes.
const maxPage = 64 << 20

// Reading is the content of a host's pages at one time.
type Reading struct {
	// Address is the address for the pages. Err explains why they cannot be read; all other fields are then zero.
	Address string
	Err     error
	At      time.Time
	Status  admin.Status
	Metrics Metrics
}

// Read reads the hosts' pages at the given addresses, and the pages for all hosts named there. Every host is listed
// once, sorted by id; hosts that cannot be read come last, so that the list begins with figures.
func Read(ctx context.Context, addresses []string) []Reading {
	list := readAll(ctx, addresses)
	asked := make(map[string]bool)
	for _, a := range addresses {
		asked[a] = true
	}
	var more []string
	var of []belonging
	for i := range list {
		for _, h := range list[i].Status.Cluster.Hosts {
			if a := h.AdminAddress; a != "" && !asked[a] && !known(list, h.ID) {
				asked[a] = true
				more, of = append(more, a), append(of, belonging{h.ID, h.Name, list[i].Status.Cluster.ID})
			}
		}
	}
	for i, r := range readAll(ctx, more) {
		list = append(list, of[i].check(r))
	}
	slices.SortStableFunc(list, func(a, b Reading) int {
		return cmp.Or(cmp.Compare(failed(&a), failed(&b)), cmp.Compare(a.Status.Host.ID, b.Status.Host.ID))
	})
	return slices.CompactFunc(list, func(a, b Reading) bool {
		return a.Err == nil && b.Err == nil && a.Status.Host.ID == b.Status.Host.ID &&
			a.Status.Cluster.ID == b.Status.Cluster.ID
	})
}

// belonging is the host whose pages should be at an address.
type belonging struct {
	id      uint64
	name    string
	cluster string
}

// check refuses a wrong host's pages: an address such as 127.0.0.1 means the reader's machine, not the advertising
// host's machine.
func (b belonging) check(r Reading) Reading {
	if s := &r.Status; r.Err == nil && (s.Host.ID != b.id || s.Cluster.ID != b.cluster) {
		return Reading{Address: r.Address,
			Err: fmt.Errorf("host %s advertises the address, but another host answers at it", b.name)}
	}
	return r
}

// failed returns the sort rank of a reading: readings with an error come last.
func failed(r *Reading) int {
	if r.Err != nil {
		return 1
	}
	return 0
}

// known reports whether a list contains a successful reading from the host with an id.
func known(list []Reading, id uint64) bool {
	return slices.ContainsFunc(list, func(r Reading) bool { return r.Err == nil && r.Status.Host.ID == id })
}

// readAll reads the pages at all addresses concurrently.
func readAll(ctx context.Context, addresses []string) []Reading {
	list := make([]Reading, len(addresses))
	var all sync.WaitGroup
	for i, a := range addresses {
		all.Go(func() { list[i] = readHost(ctx, a) })
	}
	all.Wait()
	return list
}

// readHost reads the status page and, if that succeeds, the metrics page.
func readHost(ctx context.Context, address string) Reading {
	r := Reading{Address: address}
	r.Err = get(ctx, address, "/status", func(body io.Reader) error { return json.NewDecoder(body).Decode(&r.Status) })
	if r.Err == nil {
		r.Err = get(ctx, address, "/metrics", func(body io.Reader) (err error) {
			r.Metrics, err = Parse(body)
			return err
		})
	}
	r.At = time.Now()
	return r
}

// get reads a page.
func get(ctx context.Context, address, page string, read func(io.Reader) error) error {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(address, "/")+page, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s%s: %s", address, page, answer.Status)
	}
	if err := read(io.LimitReader(answer.Body, maxPage)); err != nil {
		return fmt.Errorf("get %s%s: %w", address, page, err)
	}
	return nil
}

// Name returns the host's display name.
func (r *Reading) Name() string { return cmp.Or(r.Status.Host.Name, r.Address) }
