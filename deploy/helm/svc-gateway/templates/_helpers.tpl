{{- define "svc-gateway.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name }}
{{- .Release.Name | trunc 48 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 48 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "svc-gateway.selectorLabels" -}}
app.kubernetes.io/name: svc-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "svc-gateway.labels" -}}
{{ include "svc-gateway.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "svc-gateway.image" -}}
{{- $image := .Values.image }}
{{- if not $image }}
{{- fail "image is required: the reference of an image with svc-gateway" }}
{{- else if kindIs "string" $image }}
{{- $image }}
{{- else }}
{{- required "image.repository is required" $image.repository }}
{{- with $image.tag }}:{{ . }}{{ end }}
{{- with $image.digest }}@{{ . }}{{ end }}
{{- end }}
{{- end }}

{{/* The headless Service. Its addresses are those of all replicas, ready or not. */}}
{{- define "svc-gateway.agentsHost" -}}
{{ include "svc-gateway.fullname" . }}-agents.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{- define "svc-gateway.replicas" -}}
{{- if .Values.autoscaling.enabled }}{{ .Values.autoscaling.minReplicas }}{{ else }}{{ .Values.replicas }}{{ end }}
{{- end }}

{{/* Where agents may dial: an agent signs the URL, and a gateway takes those that are listed. */}}
{{- define "svc-gateway.agentUrls" -}}
{{- $urls := .Values.agentUrls }}
{{- with .Values.publicUrl }}
{{- $urls = append $urls (printf "%s/ws/agent" (trimSuffix "/" (regexReplaceAll "^http" . "ws"))) }}
{{- end }}
{{- if .Values.tls.secretName }}
{{- $host := include "svc-gateway.agentsHost" . }}
{{- $urls = append $urls (printf "wss://%s:8080/ws/agent" $host) }}
{{- if eq .Values.kind "StatefulSet" }}
{{- $urls = append $urls (printf "wss://%s-{replica}.%s:8080/ws/agent" (include "svc-gateway.fullname" .) $host) }}
{{- end }}
{{- end }}
{{- join "," $urls }}
{{- end }}

{{- define "svc-gateway.valkeyPort" -}}
{{- regexFind ":[0-9]+$" (get (urlParse .Values.valkey.url) "host") | trimPrefix ":" | default "6379" }}
{{- end }}

{{/* What no schema says. */}}
{{- /* For each worker, and in memory for the primary beside them. */}}
{{- define "svc-gateway.resources" -}}
{{- $processes := add1 (int .Values.workers) | int }}
{{- $requests := dict "cpu" (toString (int .Values.workers)) "memory" (printf "%dMi" (mul 128 $processes)) }}
{{- $limits := dict "memory" (printf "%dMi" (mul 256 $processes)) }}
{{- toYaml (mergeOverwrite (dict "limits" $limits "requests" $requests) (deepCopy .Values.resources)) }}
{{- end }}

{{- define "svc-gateway.checks" -}}
{{- $v := .Values }}
{{- if not (or $v.agentPublicKeys $v.apiKeys.secretName $v.services.secretName) }}
{{- fail "agentPublicKeys, apiKeys.secretName or services.secretName is required: no agent could connect" }}
{{- end }}
{{- if not (or $v.apiKeys.secretName $v.services.secretName $v.issuers) }}
{{- fail "apiKeys.secretName, services.secretName or issuers is required: nobody could call" }}
{{- end }}
{{- if and $v.issuers (not $v.publicUrl) }}
{{- fail "publicUrl is required with issuers: their tokens are for it" }}
{{- end }}
{{- $least := add (trimSuffix "s" $v.shutdownDelay | int) 25 }}
{{- if le (int $v.terminationGracePeriodSeconds) (int $least) }}
{{- fail (printf "terminationGracePeriodSeconds must be above %d: shutdownDelay, and 25 s for the calls in flight" $least) }}
{{- end }}
{{- if gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas) }}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas" }}
{{- end }}
{{- if and $v.serviceMonitor.enabled (not $v.metrics.enabled) }}
{{- fail "serviceMonitor.enabled needs metrics.enabled" }}
{{- end }}
{{- end }}
