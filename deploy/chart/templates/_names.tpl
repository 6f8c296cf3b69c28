{{/* Names that several templates use. All of them follow from the name of the release and its namespace. */}}

{{/* The addresses of the hosts at a port: (list . 7420). The first three, or all where there are fewer, are enough to find the rest. */}}
{{- define "signalbox.hosts" -}}
{{- $top := index . 0 -}}{{- $port := index . 1 -}}
{{- $list := list -}}
{{- range $i := until (min 3 (int $top.Values.replicas) | int) -}}
{{- $list = append $list (printf "%s-%d.%s.%s.svc:%v" $top.Release.Name $i $top.Release.Name $top.Release.Namespace $port) -}}
{{- end -}}
{{- join "," $list -}}
{{- end -}}

{{- define "signalbox.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* Labels of everything that is made. Pods have the first one alone: what selects them must never change. */}}
{{- define "signalbox.labels" -}}
app: {{ .Release.Name }}
app.kubernetes.io/name: signalbox
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* What a pod of any kind has: it runs as nobody's user, and knows nothing of the cluster of Kubernetes. */}}
{{- define "signalbox.pod" -}}
enableServiceLinks: false
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "signalbox.container" -}}
image: {{ include "signalbox.image" . }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* Settings that hosts and the job that makes the cluster have in common. */}}
{{- define "signalbox.settings" -}}
- {name: SIGNALBOX_RAFT_LISTEN, value: "0.0.0.0:7421"}
- {name: SIGNALBOX_CLUSTER_NAME, value: {{ .Values.clusterName | quote }}}
- {name: SIGNALBOX_DATA_DIR, value: /var/lib/signalbox}
- {name: SIGNALBOX_RAFT_TLS_CERT, value: /etc/signalbox/tls/tls.crt}
- {name: SIGNALBOX_RAFT_TLS_KEY, value: /etc/signalbox/tls/tls.key}
- {name: SIGNALBOX_RAFT_TLS_CA, value: /etc/signalbox/tls/ca.crt}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end -}}

{{- define "signalbox.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .className }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests: {storage: {{ .size }}}
{{- end -}}

{{/* How commands of the tool reach the cluster with the rights of an operator. */}}
{{- define "signalbox.operator" -}}
- --endpoints={{ include "signalbox.hosts" (list . 7420) }}
- --tls-ca=/etc/signalbox/tls/ca.crt
- --token-file=/etc/signalbox/tokens/operator
{{- end -}}
