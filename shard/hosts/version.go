package hosts

import (
	"fmt"
	"strconv"
	"strings"
)

// release is the part of a version used for comparisons: the first two numbers.
type release struct{ major, minor int }

// parseRelease parses "v1.4.2" and "1.4". A version without two numbers, for example from a build between releases, is
// not a release.
func parseRelease(version string) (release, bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return release{}, false
	}
	major, err := strconv.Atoi(parts[0])
	minor, bad := strconv.Atoi(parts[1])
	return release{major, minor}, err == nil && bad == nil
}

// checkVersion checks that the cluster, including a host with the version, has at most two minor versions, and that the
// two are consecutive. The record except is ignored: the host itself, or the replaced host.
func (r *Records) checkVersion(version string, except *Host) error {
	own, ok := parseRelease(version)
	if !ok {
		return nil
	}
	for _, h := range r.hosts {
		other, known := parseRelease(h.Version)
		if !known || !h.Living() || h == except {
			continue
		}
		if own.major != other.major || own.minor-other.minor > 1 || other.minor-own.minor > 1 {
			return fmt.Errorf("version %s beside %s of host %s: hosts of a cluster are of the same minor version, or "+
				"of two that follow one another", version, h.Version, h.Name)
		}
	}
	return nil
}

// checkLevel checks that a host supports the cluster's level.
func checkLevel(at At, h *Host) error {
	if h.Level < at.Level {
		return fmt.Errorf("the cluster is at feature level %d, and host %s can follow up to %d: start a newer version "+
			"of Signalbox there", at.Level, h.Name, h.Level)
	}
	return nil
}
