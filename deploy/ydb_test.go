package deploy_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTheGatewaysInKubernetesFindTheHosts: gateways connect to all hosts at the advertised addresses, and listen at the
// port that the service, probes and NetworkPolicy expect.
func TestTheGatewaysInKubernetesFindTheHosts(t *testing.T) {
	var set statefulSet
	var deployment struct {
		Spec struct{ Template podTemplate }
	}
	var policy networkPolicy
	var service struct {
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			Ports []struct {
				Name string
				Port int
			}
		}
	}
	manifests(t, "kubernetes/signalbox.yaml", map[string]any{"StatefulSet": &set})
	kinds := manifests(t, "kubernetes/ydb.yaml", map[string]any{
		"Deployment": &deployment, "NetworkPolicy": &policy, "Service": &service,
	})
	if len(kinds) != 4 || kinds["PodDisruptionBudget"] != 1 {
		t.Fatalf("there are %v", kinds)
	}
	pod := &deployment.Spec.Template
	stopsInTime(t, "a gateway", strconv.Itoa(pod.Spec.Grace)+"s")
	container := &pod.Spec.Containers[0]
	value := func(flag string) string {
		for _, a := range container.Args {
			if v, is := strings.CutPrefix(a, "--"+flag+"="); is {
				return v
			}
		}
		t.Errorf("there is no --%s", flag)
		return ""
	}
	var hosts []string
	for i := range set.Spec.Replicas {
		name := set.Spec.ServiceName + "-" + strconv.Itoa(i)
		hosts = append(hosts, set.Spec.Template.Spec.Containers[0].settingsOf(t, name, name).Advertise)
	}
	if got := strings.Split(value("endpoints"), ","); !slices.Equal(got, hosts) || value("cluster-tls") != "on" {
		t.Errorf("gateways call %v, and the hosts are %v", got, hosts)
	}
	for port, flag := range map[string]string{"sdks": "listen", "admin": "metrics-listen"} {
		peers, open := policy.from(port)
		if !container.has(port, value(flag)) || !open || (peers > 0) != (port == "admin") {
			t.Errorf("--%s is %s; the ports are %v, and %d peers are let to %s", flag, value(flag), container.Ports,
				peers, port)
		}
	}
	ports := service.Spec.Ports
	if len(ports) != 1 || !strings.HasSuffix(value("listen"), ":"+strconv.Itoa(ports[0].Port)) {
		t.Errorf("the service has the ports %v", ports)
	}
}
